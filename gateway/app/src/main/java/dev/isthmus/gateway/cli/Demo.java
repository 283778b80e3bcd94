package dev.isthmus.gateway.cli;

import dev.isthmus.gateway.call.BodyForm;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.gateway.upstream.grpc.GrpcUpstream;
import dev.isthmus.gateway.upstream.rest.PoolLimits;
import dev.isthmus.gateway.upstream.rest.RestUpstream;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.ResponseForm;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestRequestReader;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * A demonstration for new users: sends a handwritten digit to the gateway's own port over REST and gRPC, and prints the
 * responses and commands to try.
 */
final class Demo {
    private static final ModelRef DIGITS = ModelRef.of("digits");
    private static final int MAX_RESPONSE_BYTES = 1 << 20;

    private final InetSocketAddress address;
    private final String console;
    private final PrintWriter out;
    private final Transport transport = Transport.best();
    private final Transcoder transcoder = new Transcoder(WireLimits.DEFAULT);

    /** @param console the URL of the console's page that sends requests */
    Demo(InetSocketAddress address, String console, PrintWriter out) {
        this.address = address;
        this.console = console;
        this.out = out;
    }

    void run() throws Exception {
        byte[] sample = sample();
        EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, transport.ioHandlerFactory());
        Endpoint self = new Endpoint(address.getHostString(), address.getPort());
        UpstreamSettings settings =
                UpstreamSettings.of("isthmus", self, Duration.ofSeconds(10), Duration.ofSeconds(1), MAX_RESPONSE_BYTES);
        try (Upstream rest = new RestUpstream(
                        settings, ServerCapabilities.unknown(), PoolLimits.DEFAULT, ByteBufAllocator.DEFAULT);
                Upstream grpc = new GrpcUpstream(settings, ServerCapabilities.unknown(), ByteBufAllocator.DEFAULT)) {
            out.println();
            out.println("A handwritten digit, sent to the embedded model 'digits':");
            RestBody body = new RestBody(Unpooled.copiedBuffer(sample), RestBody.ALL_JSON);
            show("REST  POST /v2/models/digits/infer", ask(rest, loops, new InferMessage.RestMessage(body)));
            InferMessage encoded = transcoder.request(
                    ByteBufAllocator.DEFAULT,
                    new InferMessage.DecodedRequest(decode(sample)),
                    ServerFeatures.of(Wire.PROTOBUF));
            show("gRPC  inference.GRPCInferenceService/ModelInfer", ask(grpc, loops, encoded));
        } finally {
            loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).syncUninterruptibly();
        }
        commands(self);
    }

    private static byte[] sample() throws IOException {
        try (InputStream in = Demo.class.getResourceAsStream("/models/digits/sample.json")) {
            if (in == null) {
                throw new IOException("the sample is missing");
            }
            return in.readAllBytes();
        }
    }

    private static InferRequest decode(byte[] sample) {
        RestRequestReader reader =
                new RestRequestReader(ByteBufAllocator.DEFAULT, DIGITS, RestBody.ALL_JSON, false, WireLimits.DEFAULT);
        ByteBuf text = Unpooled.wrappedBuffer(sample);
        reader.feed(text);
        text.release();
        return reader.finish().request();
    }

    private InferResponse ask(Upstream gateway, EventLoopGroup loops, InferMessage request) throws Exception {
        CompletableFuture<InferMessage> future = new CompletableFuture<>();
        var loop = loops.next();
        Call call = new Call(
                new Operation.Infer(DIGITS, new BodyForm.RestForm(RestBody.ALL_JSON, -1, null), false),
                Call.NO_DEADLINE,
                Map.of(),
                loop,
                ByteBufAllocator.DEFAULT);
        loop.execute(() ->
                gateway.send(call, new UpstreamRequest.InferenceRequest(DIGITS, request), new InferenceResult(future)));
        InferMessage message = future.get(10, TimeUnit.SECONDS);
        InferMessage decoded = transcoder.response(ByteBufAllocator.DEFAULT, message, ResponseForm.DECODED);
        return ((InferMessage.Response) decoded).response();
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
        out.flush();
    }

    /** Receives one inference response. */
    private record InferenceResult(CompletableFuture<InferMessage> future) implements Reply {
        @Override
        public void message(ReplyMessage message) {
            if (message instanceof ReplyMessage.Inference inference) {
                future.complete(inference.message());
            }
        }

        @Override
        public void complete() {}

        @Override
        public void fail(OipException failure) {
            future.completeExceptionally(failure);
        }
    }
}
