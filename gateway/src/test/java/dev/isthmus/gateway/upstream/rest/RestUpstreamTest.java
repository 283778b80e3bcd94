package dev.isthmus.gateway.upstream.rest;

import static com.github.tomakehurst.wiremock.client.WireMock.aResponse;
import static com.github.tomakehurst.wiremock.client.WireMock.binaryEqualTo;
import static com.github.tomakehurst.wiremock.client.WireMock.equalTo;
import static com.github.tomakehurst.wiremock.client.WireMock.get;
import static com.github.tomakehurst.wiremock.client.WireMock.okJson;
import static com.github.tomakehurst.wiremock.client.WireMock.post;
import static com.github.tomakehurst.wiremock.client.WireMock.postRequestedFor;
import static com.github.tomakehurst.wiremock.client.WireMock.urlEqualTo;
import static com.github.tomakehurst.wiremock.core.WireMockConfiguration.wireMockConfig;
import static org.assertj.core.api.Assertions.assertThat;

import com.github.tomakehurst.wiremock.WireMockServer;
import com.github.tomakehurst.wiremock.http.Fault;
import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Cancellation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.upstream.Asking;
import dev.isthmus.gateway.upstream.Endpoint;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Shape;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.BiFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RestUpstreamTest {
    private static final ModelRef MODEL = new ModelRef("a b/c", "3");
    private static final String PATH = "/v2/models/a%20b%2Fc/versions/3";

    private final WireMockServer server =
            new WireMockServer(wireMockConfig().dynamicPort().bindAddress("127.0.0.1"));
    private final Asking asking = new Asking();
    private RestUpstream upstream = upstream(1, 1 << 20);

    private RestUpstream upstream(int port, int maxAnswer) {
        return new RestUpstream(
                new UpstreamSettings(
                        "u",
                        List.of(new Endpoint("127.0.0.1", port)),
                        Duration.ofSeconds(30),
                        Duration.ofSeconds(1),
                        maxAnswer),
                asking.transport,
                RestUpstream.BinaryTensorData.AUTO);
    }

    @BeforeEach
    void start() {
        server.start();
        upstream = upstream(server.port(), 1 << 20);
    }

    @AfterEach
    void stop() {
        upstream.close();
        asking.close();
        server.stop();
    }

    private BiFunction<Call, Reply, Cancellation> infer(byte[] body, long jsonLength) {
        return (call, reply) -> upstream.infer(
                call,
                MODEL,
                new InferMessage.Rest(
                        new RestBody(ByteBufAllocator.DEFAULT.buffer().writeBytes(body), jsonLength)),
                reply);
    }

    private BiFunction<Call, Reply, Cancellation> infer() {
        return infer("{}".getBytes(java.nio.charset.StandardCharsets.UTF_8), RestBody.ALL_JSON);
    }

    @Test
    void infer_binary_goesAndComesUnchanged() {
        byte[] body = new byte[602_000];
        new SplittableRandom(1).nextBytes(body);
        server.stubFor(post(PATH + "/infer")
                .withHeader("Inference-Header-Content-Length", equalTo("7"))
                .withHeader("Content-Type", equalTo("application/octet-stream"))
                .withRequestBody(binaryEqualTo(body))
                .willReturn(aResponse()
                        .withHeader("Inference-Header-Content-Length", "9")
                        .withBody(body)));
        for (int i = 0; i < 3; i++) {
            Answer.Inference answer = (Answer.Inference) asking.ask(infer(body, 7));
            RestBody got = ((InferMessage.Rest) answer.message()).body();
            assertThat(got.jsonLength()).isEqualTo(9);
            assertThat(ByteBufUtil.getBytes(got.content())).isEqualTo(body);
            got.release();
        }
    }

    @Test
    void headers_go() {
        server.stubFor(post(PATH + "/infer").willReturn(okJson("{}")));
        asking.start(Map.of("traceparent", "t"), 0, infer()).answer().join().release();
        server.verify(postRequestedFor(urlEqualTo(PATH + "/infer"))
                .withHeader("traceparent", equalTo("t"))
                .withHeader("Host", equalTo("127.0.0.1:" + server.port()))
                .withHeader("Content-Type", equalTo("application/json")));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            400 | {"error":"bad"}                                          | INVALID_ARGUMENT    | bad
            404 | {"detail":"Not Found"}                                   | NOT_FOUND           | Not Found
            422 | {"detail":[{"loc":["body","inputs"],"msg":"required"}]}  | INVALID_ARGUMENT    | body.inputs: required
            500 | Internal Server Error                                    | INTERNAL            | Internal Server Error
            503 | <html>sorry</html>                                       | UNAVAILABLE         | upstream 'u' answered 503
            503 | ``                                                       | UNAVAILABLE         | upstream 'u' answered 503
            501 | {"code":12,"message":"no"}                               | UNIMPLEMENTED       | no
            429 | {"x":1}                                                  | RESOURCE_EXHAUSTED  | {"x":1}
            307 | ``                                                       | BAD_UPSTREAM_ANSWER | upstream 'u' answered 307
            """)
    void failure_inAnyForm_isRead(int status, String body, ErrorCode code, String message) {
        server.stubFor(
                post(PATH + "/infer").willReturn(aResponse().withStatus(status).withBody(body)));
        OipException failure = asking.failure(infer());
        assertThat(failure.code()).isEqualTo(code);
        assertThat(failure.message()).isEqualTo(message);
    }

    @Test
    void connection_closedMidAnswer_isUnavailable() {
        server.stubFor(post(PATH + "/infer").willReturn(aResponse().withFault(Fault.EMPTY_RESPONSE)));
        assertThat(asking.failure(infer()).code()).isEqualTo(ErrorCode.UNAVAILABLE);
    }

    @Test
    void answer_malformed_isABadAnswer() {
        server.stubFor(post(PATH + "/infer").willReturn(aResponse().withFault(Fault.RANDOM_DATA_THEN_CLOSE)));
        assertThat(asking.failure(infer()).code()).isIn(ErrorCode.BAD_UPSTREAM_ANSWER, ErrorCode.UNAVAILABLE);
    }

    @Test
    void answer_tooLarge_isABadAnswer() {
        server.stubFor(post(PATH + "/infer").willReturn(aResponse().withBody(new byte[(1 << 20) + 1])));
        assertThat(asking.failure(infer()).message()).contains("at most 1048576 bytes");
    }

    @Test
    void server_notThere_isUnavailable() {
        server.stop();
        OipException failure = asking.failure(infer());
        assertThat(failure.code()).isEqualTo(ErrorCode.UNAVAILABLE);
        assertThat(failure.message()).isEqualTo("upstream 'u' is not reachable");
    }

    @Test
    void keptConnection_closedByTheServer_costsNothing() {
        server.stubFor(get("/v2/health/ready").willReturn(aResponse()));
        assertThat(asking.ask(upstream::serverReady)).isEqualTo(new Answer.Ready(true));
        int port = server.port();
        server.stop();
        WireMockServer again = new WireMockServer(wireMockConfig().port(port).bindAddress("127.0.0.1"));
        again.start();
        again.stubFor(get("/v2/health/ready").willReturn(aResponse()));
        assertThat(asking.ask(upstream::serverReady)).isEqualTo(new Answer.Ready(true));
        again.stop();
    }

    @Test
    void deadline_passes_isDeadlineExceeded() {
        server.stubFor(post(PATH + "/infer").willReturn(okJson("{}").withFixedDelay(20_000)));
        OipException failure = asking.failure(asking.start(Map.of(), 100, infer()));
        assertThat(failure.code()).isEqualTo(ErrorCode.DEADLINE_EXCEEDED);
        assertThat(failure.message()).isEqualTo("upstream 'u' did not answer in time");
    }

    @Test
    void cancel_leavesNothingBehind() {
        server.stubFor(post(PATH + "/infer").willReturn(okJson("{}").withFixedDelay(20_000)));
        Asking.Question question = asking.start(Map.of(), 0, infer());
        question.cancellation().join();
        asking.start(Map.of(), 0, (call, reply) -> {
                    question.cancellation().join().cancel();
                    reply.only(new Answer.Live(true));
                    return Cancellation.NONE;
                })
                .answer()
                .join();
        assertThat(question.answer()).isNotDone();
    }

    @Test
    void metadata_withNulls_isRead() {
        server.stubFor(get(PATH)
                .willReturn(okJson("{\"name\":\"m\",\"versions\":null,\"platform\":\"\",\"inputs\":"
                        + "[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[-1,4],\"parameters\":{\"content_type\":\"np\","
                        + "\"n\":null}}],\"outputs\":[],\"parameters\":{}}")));
        Answer.Model answer = (Answer.Model) asking.ask((call, reply) -> upstream.modelMetadata(call, MODEL, reply));
        assertThat(answer.metadata().versions()).isEmpty();
        assertThat(answer.metadata().inputs().get(0).shape()).isEqualTo(Shape.of(-1, 4));
        assertThat(answer.metadata().inputs().get(0).parameters()).containsOnlyKeys("content_type");
    }

    @ParameterizedTest
    @CsvSource({"200, true", "400, false", "404, false", "503, false"})
    void modelReady_isByStatus(int status, boolean ready) {
        server.stubFor(get(PATH + "/ready").willReturn(aResponse().withStatus(status)));
        assertThat(asking.ask((call, reply) -> upstream.modelReady(call, MODEL, reply)))
                .isEqualTo(new Answer.ModelReady(MODEL, ready));
    }

    @Test
    void binaryTensorData_isLearnedFromMetadata() {
        server.stubFor(get("/v2/health/ready").willReturn(aResponse().withFixedDelay(200)));
        server.stubFor(get("/v2").willReturn(okJson("{\"name\":\"triton\",\"extensions\":[\"binary_tensor_data\"]}")));
        assertThat(upstream.binaryTensorData()).isFalse();
        asking.ask(upstream::serverReady);
        org.awaitility.Awaitility.await().until(upstream::binaryTensorData);
    }
}
