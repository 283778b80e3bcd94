package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.http2.Http2Client;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A server's message size limit is not an overload: retrying does not help. */
class MessageSizeTest {
    private static final String PATH = "/v2/models/m/infer";

    /** Ends each call at its first message. */
    private record Refusing(Status status) implements FakeGrpcServer.Script {
        @Override
        public void message(ServerCall<byte[], byte[]> call, byte[] message) {
            call.close(status, new Metadata());
        }

        @Override
        public void ended(ServerCall<byte[], byte[]> call) {}
    }

    /** Clients of each protocol receive the server's status unchanged. */
    private static void expect(Stage stage, int http, Status.Code grpc, String text) throws Exception {
        try (Http1Client http1 = stage.http1();
                Http2Client http2 = new Http2Client(stage.port())) {
            Http1Client.Response first = http1.post(PATH, Infer.json("", 1)).response();
            assertThat(first.status()).as(first.text()).isEqualTo(http);
            assertThat(first.text()).isEqualTo("{\"error\":\"" + text + "\"}");
            assertThat(first.head().headers()).doesNotContainKey("retry-after");
            Http2Client.Response second = http2.post(PATH, Infer.json("", 1));
            assertThat(second.head().status()).hasToString(Integer.toString(http));
            assertThat(second.head().contains("retry-after")).isFalse();
            assertThat(second.body()).isEqualTo(first.text());
            GrpcClient call = GrpcClient.ask(
                    stage.channel(),
                    "ModelInfer",
                    new Metadata(),
                    Infer.request("m", "", 1).toByteArray());
            assertThat(call.status().getCode()).isEqualTo(grpc);
            assertThat(call.status().getDescription()).isEqualTo(text);
        }
    }

    /**
     * The messages of grpcio (prefixed by the server's side, and unprefixed before 1.60), grpc-go, grpc-java,
     * grpc-dotnet and tonic.
     */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            RESOURCE_EXHAUSTED | SERVER: Received message larger than max (9000033 vs. 8388608)
            RESOURCE_EXHAUSTED | SERVER: Sent message larger than max (8388618 vs. 8388608)
            RESOURCE_EXHAUSTED | Received message larger than max (5000000 vs. 4194304)
            RESOURCE_EXHAUSTED | grpc: received message after decompression larger than max (9 vs. 8)
            RESOURCE_EXHAUSTED | trying to send message larger than max (9 vs. 8)
            RESOURCE_EXHAUSTED | gRPC message exceeds maximum size 8: 9
            RESOURCE_EXHAUSTED | Received message exceeds the maximum configured message size.
            OUT_OF_RANGE       | Error, decoded message length too large: found 9 bytes, the limit is: 8 bytes
            """)
    void grpcServer_saysTooLarge(Status.Code code, String text) throws Exception {
        try (FakeGrpcServer server =
                        new FakeGrpcServer(new Refusing(code.toStatus().withDescription(text)));
                Stage stage = Stage.of(Stage.grpc(server, ServerDialect.GENERIC))) {
            expect(stage, 413, Status.Code.RESOURCE_EXHAUSTED, text);
            assertThat(server.messages).hasSize(3);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"quota exceeded", "the maximum of requests is reached", "too many messages"})
    void grpcServer_saysItIsExhausted(String text) throws Exception {
        try (FakeGrpcServer server = new FakeGrpcServer(new Refusing(Status.RESOURCE_EXHAUSTED.withDescription(text)));
                Stage stage = Stage.of(Stage.grpc(server, ServerDialect.GENERIC))) {
            expect(stage, 429, Status.Code.RESOURCE_EXHAUSTED, text);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"{\"error\":\"too much\"}", "too much"})
    void restServer_saysTooLarge(String body) throws Exception {
        AtomicInteger calls = new AtomicInteger();
        try (FakeRestServer server = FakeRestServer.that((request, out) -> {
                    boolean infer = request.head().startsWith("POST " + PATH + " ");
                    calls.addAndGet(infer ? 1 : 0);
                    String refusal =
                            "HTTP/1.1 413 Content Too Large\r\nContent-Length: " + body.length() + "\r\n\r\n" + body;
                    FakeRestServer.write(out, infer ? refusal : FakeRestServer.ok("{}"));
                    return true;
                });
                Stage stage = Stage.of(Stage.rest(server, ServerDialect.GENERIC))) {
            expect(stage, 413, Status.Code.RESOURCE_EXHAUSTED, "too much");
            assertThat(calls).hasValue(3);
        }
    }
}
