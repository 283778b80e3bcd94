package dev.isthmus.gateway.cli;

import dev.isthmus.gateway.replay.ReplayClient;
import dev.isthmus.gateway.replay.ReplayClient.ServerConnection;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.Map;
import java.util.Objects;

/**
 * A demonstration for new users: sends a handwritten digit to the gateway's own port over REST and gRPC, and prints the
 * responses and commands to try.
 *
 * @param console the URL of the console's page that sends requests
 */
record Demo(InetSocketAddress address, String console, PrintWriter out) {
    private static final ModelRef DIGITS = ModelRef.of("digits");

    void run() throws Exception {
        byte[] sample = sample();
        Endpoint self = new Endpoint(address.getHostString(), address.getPort());
        out.println();
        out.println("A handwritten digit, sent to the embedded model 'digits':");
        ask("REST  POST /v2/models/digits/infer", self, false, sample);
        ask("gRPC  inference.GRPCInferenceService/ModelInfer", self, true, sample);
        commands(self);
    }

    private void ask(String how, Endpoint self, boolean grpc, byte[] sample) throws Exception {
        URI url = URI.create("http://" + self.authority());
        ServerConnection connection = new ServerConnection(url, null, grpc, BinaryTensorData.FALSE, Map.of(), 1);
        try (ReplayClient client = new ReplayClient(connection, null)) {
            ByteBuf body = Unpooled.wrappedBuffer(sample);
            show(how, client.infer(ReplayClient.decoded(DIGITS, body, RestBody.ALL_JSON, WireLimits.DEFAULT), DIGITS));
        }
    }

    private static byte[] sample() throws IOException {
        try (InputStream in = Objects.requireNonNull(Demo.class.getResourceAsStream("/models/digits/sample.json"))) {
            return in.readAllBytes();
        }
    }

    private void show(String how, InferResponse response) {
        Tensor label = response.outputs().get(0);
        Tensor probabilities = response.outputs().get(1);
        long digit = label.data().getLongLE(label.data().readerIndex());
        ByteBuf values = probabilities.data();
        float probability = values.getFloatLE(values.readerIndex() + (int) digit * Float.BYTES);
        out.printf("  %-48s -> %s %d, probability %.4f%n", how, label.name(), digit, probability);
        response.release();
    }

    private void commands(Endpoint self) {
        String ones = "1" + ",1".repeat(15);
        out.println();
        out.println("Try it yourself (sum and difference of two vectors, embedded model 'simple'):");
        out.println();
        out.println("curl -s http://" + self.authority() + "/v2/models/simple/infer -d '{\"inputs\":["
                + "{\"name\":\"INPUT0\",\"shape\":[1,16],\"datatype\":\"INT32\",\"data\":[" + ones + "]},"
                + "{\"name\":\"INPUT1\",\"shape\":[1,16],\"datatype\":\"INT32\",\"data\":[" + ones + "]}]}'");
        out.println();
        out.println("grpcurl -plaintext -d '"
                + "{\"model_name\":\"simple\",\"inputs\":["
                + "{\"name\":\"INPUT0\",\"shape\":[1,16],\"datatype\":\"INT32\",\"contents\":{\"int_contents\":["
                + ones + "]}},"
                + "{\"name\":\"INPUT1\",\"shape\":[1,16],\"datatype\":\"INT32\",\"contents\":{\"int_contents\":["
                + ones + "]}}]}' " + self.authority() + " inference.GRPCInferenceService/ModelInfer");
        out.println();
        out.println("In a browser: " + console);
        out.println();
        out.println("Serving until interrupted (Ctrl-C). For your own servers: ./isthmus serve --config FILE");
    }
}
