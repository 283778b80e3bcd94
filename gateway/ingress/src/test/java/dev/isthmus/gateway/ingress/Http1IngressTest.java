package dev.isthmus.gateway.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.ClientConnection;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.oip.ModelRef;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

@ParameterizedClass
@EnumSource(Transport.class)
class Http1IngressTest {
    private static final int MAX_BODY = 1000;
    private static final String INFER = "/v2/models/m/infer";

    @Parameter
    Transport transport = Transport.NIO;

    private final Calls calls = new Calls();
    private Ingress ingress;
    private Ingress.Client client;

    @BeforeEach
    void start() throws Exception {
        ingress = new Ingress(transport, calls, MAX_BODY);
        client = ingress.connect();
    }

    @AfterEach
    void stop() throws Exception {
        client.close();
        ingress.close();
    }

    @Test
    void connection_isTheSameForAllItsCalls() throws Exception {
        client.get("/v2/health/live").read();
        client.get("/v2/health/live").read();
        ClientConnection first =
                Objects.requireNonNull(calls.opened.take().context().connection());
        assertThat(first.listener()).isEqualTo("test");
        assertThat(first.peer()).isEqualTo(client.address());
        assertThat(first.tls()).isNull();
        assertThat(calls.opened.take().context().connection()).isSameAs(first);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            /v2/health/live                | 200 | {"live":true}
            /v2/health/ready               | 400 | {"error":"the server is not ready"}
            /v2                            | 200 | {"name":"isthmus","version":"1","extensions":["binary_tensor_data"]}
            /v2?x=1                        | 200 | {"name":"isthmus","version":"1","extensions":["binary_tensor_data"]}
            /v2/models/m/ready             | 200 | {"name":"m","ready":true}
            /v2/models/m/versions/3/ready  | 200 | {"name":"m","ready":true}
            /v2/models/a%20b/ready         | 200 | {"name":"a b","ready":true}
            /v2/models/m                   | 200 | {"name":"m","versions":["1"],"platform":"p","inputs":[{"name":"x","datatype":"FP32","shape":[-1,4]}],"outputs":[]}
            /v2/                           | 200 | {"name":"isthmus","version":"1","extensions":["binary_tensor_data"]}
            /v2/?x=1                       | 200 | {"name":"isthmus","version":"1","extensions":["binary_tensor_data"]}
            /v2//                          | 404 | {"error":"Not Found"}
            /v2/health/live/               | 404 | {"error":"Not Found"}
            /v2/models/m/                  | 404 | {"error":"Not Found"}
            /v2/models/m/ready/            | 404 | {"error":"Not Found"}
            /v1/models                     | 404 | {"error":"Not Found"}
            /                              | 404 | {"error":"Not Found"}
            /v2/models/m/nope              | 404 | {"error":"Not Found"}
            /v2/models/m/nope/3/infer      | 404 | {"error":"Not Found"}
            """)
    void get_responds(String path, int status, String body) throws Exception {
        Ingress.Response response = client.get(path).read();
        assertThat(response.status()).isEqualTo(status);
        assertThat(response.body()).isEqualTo(body);
        assertThat(response.headers()).containsEntry("content-type", "application/json");
        assertThat(client.get("/v2/health/live").read().status()).isEqualTo(200);
    }

    @ParameterizedTest
    @ValueSource(strings = {"..", ".", "%2f", "%5c", "%00", "%", "%4", "%zz", "%ff"})
    void modelName_odd_isRefused(String name) throws Exception {
        assertThat(client.get("/v2/models/" + name + "/ready").read().status()).isEqualTo(400);
        assertThat(calls.opened).isEmpty();
    }

    @Test
    void wrongMethod_isRefusedWithAllow() throws Exception {
        Ingress.Response post = client.post("/v2/health/live", "x").read();
        assertThat(post.status()).isEqualTo(405);
        assertThat(post.headers()).containsEntry("allow", "GET");
        Ingress.Response get = client.get(INFER).read();
        assertThat(get.status()).isEqualTo(405);
        assertThat(get.headers()).containsEntry("allow", "POST");
    }

    /** A body after the response to HEAD would be parsed as the next response. */
    @Test
    void head_getsNoBody() throws Exception {
        client.send("HEAD /v2/health/live HTTP/1.1\r\nHost: a\r\n\r\n");
        Ingress.Response head = client.readHead();
        assertThat(head.status()).isEqualTo(405);
        assertThat(head.headers()).containsEntry("allow", "GET").containsEntry("content-length", "30");
        Ingress.Response next = client.get("/v2/health/live").read();
        assertThat(next.status()).isEqualTo(200);
        assertThat(next.body()).isEqualTo("{\"live\":true}");
    }

    @Test
    void infer_passesBodyAndModel() throws Exception {
        assertThat(client.post("/v2/models/m/versions/7/infer", "hello").read().body())
                .isEqualTo("hello");
        Call call = calls.opened.take();
        assertThat(((Operation.Infer) call.operation()).model()).isEqualTo(new ModelRef("m", "7"));
    }

    @Test
    void infer_binary_respondsWithHeaderLength() throws Exception {
        client.send("POST " + INFER
                + " HTTP/1.1\r\nHost: a\r\nInference-Header-Content-Length: 2\r\nContent-Length: 4\r\n\r\n{}ab");
        Ingress.Response response = client.read();
        assertThat(response.body()).isEqualTo("{}ab");
        assertThat(response.headers())
                .containsEntry("inference-header-content-length", "2")
                .containsEntry("content-type", "application/octet-stream");
    }

    @ParameterizedTest
    @ValueSource(strings = {"-1", "+1", "", "1, 1", "0x1", "99999999999999999999"})
    void infer_headerLengthOdd_isRefused(String value) throws Exception {
        client.send("POST " + INFER + " HTTP/1.1\r\nHost: a\r\nInference-Header-Content-Length: " + value
                + "\r\nContent-Length: 2\r\n\r\n{}");
        assertThat(client.read().status()).isEqualTo(400);
        assertThat(client.get("/v2/health/live").read().status()).isEqualTo(200);
    }

    @Test
    void infer_chunked_isTaken() throws Exception {
        client.send("POST " + INFER + " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
        client.send("2\r\nde\r\n0\r\n\r\n");
        assertThat(client.read().body()).isEqualTo("abcde");
    }

    @Test
    void requests_pipelined_getResponsesInOrder() throws Exception {
        StringBuilder all = new StringBuilder();
        for (int i = 0; i < 20; i++) {
            all.append("POST " + INFER + " HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n")
                    .append(10 + i);
        }
        client.send(all.toString());
        for (int i = 0; i < 20; i++) {
            assertThat(client.read().body()).isEqualTo(Integer.toString(10 + i));
        }
    }

    @Test
    void failure_beforeBodyEnds_leavesConnectionUsable() throws Exception {
        client.send("POST /v2/models/bad/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
        Ingress.Response response = client.read();
        assertThat(response.status()).isEqualTo(400);
        assertThat(response.body()).isEqualTo("{\"error\":\"input 'x': as bad as \\\"can\\\" be, 100 %\"}");
        client.send("defghij");
        assertThat(client.post(INFER, "next").read().body()).isEqualTo("next");
    }

    @Test
    void body_tooLargeByContentLength_isRefusedAndConnectionUsable() throws Exception {
        Ingress.Response response = client.post(INFER, "x".repeat(MAX_BODY + 1)).read();
        assertThat(response.status()).isEqualTo(413);
        assertThat(response.body())
                .isEqualTo("{\"error\":\"request body: at most 1000 bytes are accepted, got 1001 bytes\"}");
        assertThat(client.post(INFER, "next").read().body()).isEqualTo("next");
    }

    @Test
    void body_tooLargeByContentLength_inParts_leavesConnectionUsable() throws Exception {
        client.send("POST " + INFER + " HTTP/1.1\r\nHost: a\r\nContent-Length: " + 2 * MAX_BODY + "\r\n\r\n");
        Ingress.Response refused = client.read();
        assertThat(refused.status()).isEqualTo(413);
        assertThat(refused.headers()).doesNotContainKey("connection");
        client.send("x".repeat(MAX_BODY + 1));
        client.send("x".repeat(MAX_BODY - 1));
        assertThat(client.post(INFER, "next").read().body()).isEqualTo("next");
    }

    @Test
    void body_tooLargeChunked_isRefused() throws Exception {
        client.send("POST " + INFER + " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
        client.send("400\r\n" + "x".repeat(1024) + "\r\n");
        assertThat(client.read().status()).isEqualTo(413);
        client.send("0\r\n\r\n");
        assertThat(client.post(INFER, "next").read().body()).isEqualTo("next");
        assertThat(calls.cancelled).hasSize(1);
    }

    @Test
    void body_farTooLarge_closesConnection_andSaysSo() throws Exception {
        client.send("POST " + INFER + " HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n");
        Ingress.Response refused = client.read();
        assertThat(refused.status()).isEqualTo(413);
        assertThat(refused.headers()).containsEntry("connection", "close");
        client.send("x".repeat(5000));
        assertThat(client.closedByServer()).isTrue();
    }

    @Test
    void expectContinue_getsItsResponse() throws Exception {
        client.send("POST " + INFER + " HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
        assertThat(client.read().status()).isEqualTo(100);
        client.send("abc");
        assertThat(client.read().body()).isEqualTo("abc");
    }

    @Test
    void expectContinue_tooLarge_isRefusedAndClosed() throws Exception {
        client.send("POST " + INFER + " HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 9999\r\n\r\n");
        Ingress.Response refused = client.read();
        assertThat(refused.status()).isEqualTo(413);
        assertThat(refused.headers()).containsEntry("connection", "close");
        assertThat(client.closedByServer()).isTrue();
    }

    @Test
    void expectContinue_unknownPath_isRefusedAndClosed_whateverFollows() throws Exception {
        client.send("POST /v2/nope HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
        Ingress.Response refused = client.read();
        assertThat(refused.status()).isEqualTo(404);
        assertThat(refused.headers()).containsEntry("connection", "close");
        assertThat(client.closedByServer()).isTrue();
        assertThat(calls.opened).isEmpty();
    }

    @Test
    void expectContinue_taken_keepsTheConnection() throws Exception {
        client.send("POST " + INFER + " HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
        assertThat(client.read().status()).isEqualTo(100);
        Ingress.Response taken = client.send("abc").read();
        assertThat(taken.headers()).doesNotContainKey("connection");
        assertThat(client.post(INFER, "next").read().body()).isEqualTo("next");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            GET /v2 HTTP/1.1~~                                                          | 400
            GET /v2 HTTP/1.1~Host: a~Host: b~~                                          | 400
            POST /v2 HTTP/1.1~Host: a~Content-Length: 2~Content-Length: 2~~             | 400
            POST /v2 HTTP/1.1~Host: a~Content-Length: 2~Transfer-Encoding: chunked~~    | 400
            POST /v2 HTTP/1.1~Host: a~Content-Length: -2~~                              | 400
            POST /v2 HTTP/1.1~Host: a~Transfer-Encoding: gzip~~                         | 400
            POST /v2 HTTP/1.0~Transfer-Encoding: chunked~~                              | 400
            GET /v2 HTTP/1.1~Host: a~Na me: b~~                                         | 400
            GET /v2 HTTP/1.1~Host: a~Expect: the-worst~~                                | 417
            """)
    void request_malformed_isRefusedAndClosed(String request, int status) throws Exception {
        client.send(request.replace("~", "\r\n"));
        Ingress.Response response = client.read();
        assertThat(response.status()).isEqualTo(status);
        assertThat(response.body()).startsWith("{\"error\":\"");
        assertThat(client.closedByServer()).isTrue();
    }

    @Test
    void request_tooLong_isRefused() throws Exception {
        assertThat(client.get("/v2/" + "x".repeat(9000)).read().status()).isEqualTo(414);
        try (Ingress.Client other = ingress.connect()) {
            other.send("GET /v2 HTTP/1.1\r\nHost: a\r\nBig: " + "x".repeat(17000) + "\r\n\r\n");
            assertThat(other.read().status()).isEqualTo(431);
        }
        try (Ingress.Client other = ingress.connect()) {
            other.send("GET /v2 HTTP/1.1\r\nHost: a\r\n" + "A: b\r\n".repeat(100) + "\r\n");
            assertThat(other.read().status()).isEqualTo(431);
        }
    }

    @Test
    void contentEncoding_unknown_isRefused() throws Exception {
        client.send("POST " + INFER + " HTTP/1.1\r\nHost: a\r\nContent-Encoding: br\r\nContent-Length: 2\r\n\r\nab");
        assertThat(client.read().status()).isEqualTo(415);
        assertThat(client.post(INFER, "next").read().body()).isEqualTo("next");
    }

    @Test
    void headers_onlyListedOnesGoUpstream() throws Exception {
        client.send("GET /v2 HTTP/1.1\r\nHost: a\r\nX-Request-Id: 7\r\nTraceparent: t\r\nCookie: c\r\n\r\n");
        client.read();
        assertThat(calls.opened.take().headers())
                .containsOnlyKeys("x-request-id", "traceparent", "isthmus-hops")
                .containsEntry("x-request-id", "7");
    }

    @Test
    void connectionClose_isHonoured() throws Exception {
        client.send("GET /v2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        assertThat(client.read().headers()).containsEntry("connection", "close");
        assertThat(client.closedByServer()).isTrue();
    }

    @Test
    void client_goesWhileAwaitingReply_callIsCancelled() throws Exception {
        client.post("/v2/models/silent/infer", "abc");
        Call call = calls.opened.take();
        client.close();
        assertThat(calls.cancelled.poll(10, TimeUnit.SECONDS)).isSameAs(call);
    }

    @Test
    void client_goesMidBody_callIsCancelled() throws Exception {
        client.send("POST " + INFER + " HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
        Call call = calls.opened.take();
        client.close();
        assertThat(calls.cancelled.poll(10, TimeUnit.SECONDS)).isSameAs(call);
    }
}
