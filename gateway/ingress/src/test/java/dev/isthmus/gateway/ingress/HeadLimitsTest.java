package dev.isthmus.gateway.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.http2.Http2Client;
import dev.isthmus.gateway.net.Transport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** HTTP/2 has the same limits on a request's headers as HTTP/1.1, with the same responses. */
class HeadLimitsTest {
    private static final String TOO_MANY = "header fields: at most 100 fields and 16384 bytes are accepted";
    private static final String TOO_LONG = "request line: at most 8192 bytes are accepted";
    private static final String LIVE = "/inference.GRPCInferenceService/ServerLive";
    private static final String[] GRPC = {"content-type", "application/grpc", "te", "trailers"};

    private Ingress ingress;
    private Http2Client client;

    @BeforeEach
    void start() throws Exception {
        ingress = new Ingress(Transport.NIO, new Calls(), 1 << 20);
        client = new Http2Client(ingress.port());
    }

    @AfterEach
    void stop() {
        client.close();
        ingress.close();
    }

    /** With these fields first, and this many in total. */
    private static String[] fields(int count, String... first) {
        String[] fields = new String[2 * count];
        for (int i = 0; i < count; i++) {
            fields[2 * i] = "x-" + i;
            fields[2 * i + 1] = "v";
        }
        System.arraycopy(first, 0, fields, 0, first.length);
        return fields;
    }

    @Test
    void asManyFieldsAsAreTaken_areServed() throws Exception {
        Http2Client.Response response = client.post("/v2/models/m/infer", "{}", fields(100));
        assertThat(response.head().status()).hasToString("200");
    }

    @Test
    void moreFields_are431WithABody() throws Exception {
        Http2Client.Response response = client.post("/v2/models/m/infer", "{}", fields(101));
        assertThat(response.head().status()).hasToString("431");
        assertThat(response.head().get("content-type")).hasToString("application/json");
        assertThat(response.body()).isEqualTo("{\"error\":\"" + TOO_MANY + "\"}");
        assertThat(client.post("/v2/models/m/infer", "{}").head().status()).hasToString("200");
    }

    @Test
    void moreFieldsOfAGrpcCall_areAStatus() throws Exception {
        Http2Client.Response response = client.post(LIVE, new byte[5], fields(101, GRPC));
        assertThat(response.trailers().status()).hasToString("200");
        assertThat(response.trailers().get("grpc-status")).hasToString("8");
        assertThat(response.trailers().get("grpc-message")).hasToString(TOO_MANY);
    }

    /** {@code POST /… HTTP/1.1} of 8,192 bytes is accepted, and the path is unknown. */
    @ParameterizedTest
    @ValueSource(ints = {8178, 8179})
    void requestLine_isLimited(int path) throws Exception {
        Http2Client.Response response = client.post("/" + "a".repeat(path - 1), "");
        boolean taken = path == 8178;
        assertThat(response.head().status()).hasToString(taken ? "404" : "414");
        assertThat(response.body()).isEqualTo("{\"error\":\"" + (taken ? "Not Found" : TOO_LONG) + "\"}");
    }

    @Test
    void requestLineOfAGrpcCall_isAStatus() throws Exception {
        Http2Client.Response response = client.post("/" + "a".repeat(8200), new byte[5], GRPC);
        assertThat(response.trailers().get("grpc-status")).hasToString("3");
        assertThat(response.trailers().get("grpc-message")).hasToString(TOO_LONG);
    }
}
