package dev.isthmus.gateway.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.http2.Http2Client;
import dev.isthmus.gateway.net.Transport;
import io.netty.handler.codec.http2.Http2Headers;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** The server and path named by a request. */
class RequestTargetTest {
    private static final byte[] NOTHING = {};

    private final Calls calls = new Calls();
    private Ingress ingress;

    @BeforeEach
    void start() throws Exception {
        ingress = new Ingress(Transport.NIO, calls, 1000);
    }

    @AfterEach
    void stop() {
        ingress.close();
    }

    @ParameterizedTest
    @EnumSource
    void serverMetadata_haveTheirPathWithAndWithoutASlash(HttpClients http) throws Exception {
        for (String path : new String[] {"/v2", "/v2/"}) {
            Ingress.Response response = http.ask(ingress, "GET", path, NOTHING);
            assertThat(response.status()).isEqualTo(200);
            assertThat(response.body()).contains("\"extensions\"");
        }
        for (String path : new String[] {"/v2//", "/v2/health/live/", "/v2/models/m/ready/", "/v2/models/m/"}) {
            assertThat(http.ask(ingress, "GET", path, NOTHING).status())
                    .as(path)
                    .isEqualTo(404);
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            http://a/v2/health/live          | a               | 200
            HTTP://A/v2/health/live?x=1      | a               | 200
            http://a:80/v2/health/live       | a               | 200
            http://a/v2/health/live          | A:80            | 200
            http://a:/v2/health/live         | a               | 200
            https://a/v2/health/live         | a:443           | 200
            http://[::1]:8080/v2/health/live | [::1]:8080      | 200
            http://a                         | a               | 404
            http://a?/v2/health/live         | a               | 404
            http://a/nope                    | a               | 404
            http://a/v2/health/live          | b               | 400
            http://a:81/v2/health/live       | a               | 400
            https://a:80/v2/health/live      | a               | 400
            http://u@a/v2/health/live        | u@a             | 400
            http:///v2/health/live           | a               | 400
            /v2/health/live                  | a/b@c           | 400
            /v2/health/live                  | a@c             | 400
            /v2/health/live                  | a/b             | 400
            /v2/health/live                  | a?b             | 400
            /v2/health/live                  | a b             | 400
            /v2/health/live                  | a:80:80         | 400
            /v2/health/live                  | a:8x            | 400
            /v2/health/live                  | [::1            | 400
            /v2/health/live                  | [::1]a          | 400
            /v2/health/live                  | [::1]:8080      | 200
            /v2/health/live                  | my_host.a-b:1   | 200
            """)
    void http1_absoluteForm_isTaken_whereHostAgrees(String target, String host, int status) throws Exception {
        try (Ingress.Client client = ingress.connect()) {
            client.send("GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
            Ingress.Response response = client.read();
            assertThat(response.status()).as(response.body()).isEqualTo(status);
            if (status == 400) {
                assertThat(response.body()).startsWith("{\"error\":\"header Host: ");
                assertThat(client.closedByServer()).isTrue();
            }
        }
    }

    @Test
    void http1_absoluteForm_namesTheModel() throws Exception {
        try (Ingress.Client client = ingress.connect()) {
            client.send("POST http://a/v2/models/m/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
            assertThat(client.read().body()).isEqualTo("hello");
        }
    }

    @ParameterizedTest
    @CsvSource({"a,A,200", "a:80,a,200", "a,b,400", "a:81,a,400", "u@a,u@a,400", "a/b,a/b,400"})
    void http2_hostBesideAuthority_agreesOrIsRefused(String authority, String host, int status) throws Exception {
        String[] names = {":authority", authority, "host", host};
        try (Http2Client client = new Http2Client(ingress.port())) {
            assertThat(client.ask("GET", "/v2", NOTHING, names).head().status()).hasToString(Integer.toString(status));
            Http2Headers grpc = client.post(
                            "/inference.GRPCInferenceService/ServerLive",
                            new byte[5],
                            ":authority",
                            authority,
                            "host",
                            host,
                            "content-type",
                            "application/grpc")
                    .trailers();
            assertThat(grpc.get("grpc-status")).hasToString(status == 200 ? "0" : "3");
        }
    }

    @Test
    void http2_twoHosts_areRefused() throws Exception {
        Ingress.Response response = HttpClients.HTTP_2.ask(ingress, "GET", "/v2", NOTHING, "host", "a", "host", "a");
        assertThat(response.status()).isEqualTo(400);
        assertThat(response.body()).contains("header Host: 'a' is expected");
    }
}
