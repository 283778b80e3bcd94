package dev.isthmus.gateway.upstream.rest;

import static com.github.tomakehurst.wiremock.client.WireMock.aResponse;
import static com.github.tomakehurst.wiremock.client.WireMock.absent;
import static com.github.tomakehurst.wiremock.client.WireMock.any;
import static com.github.tomakehurst.wiremock.client.WireMock.anyUrl;
import static com.github.tomakehurst.wiremock.client.WireMock.binaryEqualTo;
import static com.github.tomakehurst.wiremock.client.WireMock.equalTo;
import static com.github.tomakehurst.wiremock.client.WireMock.get;
import static com.github.tomakehurst.wiremock.client.WireMock.okJson;
import static com.github.tomakehurst.wiremock.client.WireMock.postRequestedFor;
import static com.github.tomakehurst.wiremock.client.WireMock.urlEqualTo;
import static com.github.tomakehurst.wiremock.core.WireMockConfiguration.wireMockConfig;
import static dev.isthmus.gateway.upstream.rest.RestBench.MODEL;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.github.tomakehurst.wiremock.WireMockServer;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.settings.SecretText;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.gateway.upstream.RecordedReply;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.gateway.upstream.rest.RestUpstream.PoolLimits;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.oip.Shape;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.BiFunction;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RestUpstreamTest {
    private static final WireMockServer SERVER =
            new WireMockServer(wireMockConfig().dynamicPort().bindAddress("127.0.0.1"));

    private final RestBench rest = new RestBench();

    @BeforeAll
    static void start() {
        SERVER.start();
    }

    @AfterAll
    static void stop() {
        SERVER.stop();
    }

    @AfterEach
    void nothingIsHeld() {
        SERVER.resetAll();
        rest.close();
    }

    private static Endpoint endpoint() {
        return new Endpoint("127.0.0.1", SERVER.port());
    }

    private RestUpstream upstream() {
        return rest.upstream(endpoint());
    }

    private RecordedReply ask(BiFunction<RestUpstream, RecordedReply, Subscription> how) {
        RestUpstream upstream = upstream();
        return rest.bench().send(reply -> how.apply(upstream, reply));
    }

    private RecordedReply modelReady() {
        return ask((upstream, reply) ->
                upstream.send(rest.bench().call(), new UpstreamRequest.ModelReadyRequest(MODEL), reply));
    }

    private RecordedReply modelMetadata() {
        return ask((upstream, reply) ->
                upstream.send(rest.bench().call(), new UpstreamRequest.ModelMetadataRequest(MODEL), reply));
    }

    private static byte[] random(int size) {
        byte[] bytes = new byte[size];
        new Random(size).nextBytes(bytes);
        return bytes;
    }

    @Test
    void upstream_says_whatItIs() {
        assertThat(upstream().name()).isEqualTo("triton");
        assertThat(upstream().peer().wire()).isEqualTo(Wire.REST);
    }

    @Test
    void infer_asJson_sendsBodyAndHeaders() throws Exception {
        SERVER.stubFor(any(anyUrl()).willReturn(okJson("{\"outputs\":[]}")));
        var call = rest.bench().call(Map.of("x-request-id", "7", "content-type", "text/html", "connection", "close"));
        ByteBuf body = rest.buffer("{\"inputs\":[]}".getBytes(StandardCharsets.UTF_8));
        RestBody response =
                RestBench.body(rest.infer(upstream(), call, new ModelRef("a b:ü", "1.0+x"), body, RestBody.ALL_JSON));
        assertThat(response.binary()).isFalse();
        assertThat(response.content().toString(StandardCharsets.UTF_8)).isEqualTo("{\"outputs\":[]}");
        response.release();
        SERVER.verify(postRequestedFor(urlEqualTo("/v2/models/a%20b%3A%C3%BC/versions/1.0%2Bx/infer"))
                .withHeader("content-type", equalTo("application/json"))
                .withHeader("content-length", equalTo("13"))
                .withHeader("host", equalTo("127.0.0.1:" + SERVER.port()))
                .withHeader("x-request-id", equalTo("7"))
                .withHeader("connection", absent())
                .withHeader("inference-header-content-length", absent())
                .withRequestBody(equalTo("{\"inputs\":[]}")));
    }

    @Test
    void ownHeaders_areInPlaceOfTheClients_howeverTheyAreSpelled() throws Exception {
        try (FakeRestServer server = FakeRestServer.sending(FakeRestServer.ok("{}"))) {
            RestUpstream upstream = rest.upstream(server.endpoint());
            upstream.ownHeaders(Map.of("authorization", new SecretText("Bearer own"), "x-key", new SecretText("k 1")));
            var headers =
                    Map.of("authorization", "Bearer client", "x_key", "no", "x-key-bin", "no", "x-keys", "of client");

            RestBench.bytes(rest.infer(upstream, rest.bench().call(headers)));

            assertThat(server.request().head().lines())
                    .contains("authorization: Bearer own", "x-key: k 1", "x-keys: of client")
                    .filteredOn(line -> line.startsWith("authorization") || line.matches("x.key.*"))
                    .hasSize(3);
        }
    }

    @Test
    void ownHeaders_areSentWithEachKindOfRequest_andChangeOnAnOpenConnection() throws Exception {
        try (FakeRestServer server = FakeRestServer.sending(FakeRestServer.ok("{}"))) {
            RestUpstream upstream = rest.upstream(server.endpoint());
            List<UpstreamRequest> requests = List.of(
                    new UpstreamRequest.ServerReadyRequest(),
                    new UpstreamRequest.ServerMetadataRequest(),
                    new UpstreamRequest.ModelReadyRequest(MODEL),
                    new UpstreamRequest.ModelMetadataRequest(MODEL),
                    new UpstreamRequest.ModelNamesRequest(),
                    new UpstreamRequest.ManageRequest(
                            new Operation.Manage(Extension.MODEL_STATISTICS, MODEL, "", false, true, false),
                            rest.buffer(new byte[0])),
                    new UpstreamRequest.ManageRequest(
                            new Operation.Manage(Extension.REPOSITORY_LOAD, MODEL, "", true, true, false),
                            rest.buffer(new byte[] {'{', '}'})),
                    new UpstreamRequest.GenerateRequest(
                            new Operation.Generate(MODEL, false), rest.buffer(new byte[] {'{', '}'})));
            for (int i = 0; i < requests.size(); i++) {
                upstream.ownHeaders(Map.of("x-key", new SecretText("key-" + i)));
                UpstreamRequest request = requests.get(i);
                RecordedReply reply =
                        rest.bench().send(r -> upstream.send(rest.bench().call(), request, r));
                if (reply.response() instanceof ReplyMessage.Document document) {
                    document.release();
                }
                assertThat(server.request().head()).containsOnlyOnce("\r\nx-key: key-" + i + "\r\n");
            }
            assertThat(server.connections()).isOne();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {16, 602_112, 16 << 20})
    void infer_withBinaryTensors_passesTheBytesBothWays(int size) throws Exception {
        byte[] bytes = random(size);
        byte[] sent = random(size + 1);
        SERVER.stubFor(any(anyUrl())
                .willReturn(aResponse()
                        .withHeader("Inference-Header-Content-Length", "5")
                        .withBody(sent)));
        RestBody response = RestBench.body(rest.infer(upstream(), rest.bench().call(), rest.buffer(bytes), 7));
        assertThat(response.jsonLength()).isEqualTo(5);
        assertThat(ByteBufUtil.getBytes(response.content())).isEqualTo(sent);
        response.release();
        // The loop may still hold what it has read.
        await().untilAsserted(() -> assertThat(response.content().refCnt()).isZero());
        SERVER.verify(postRequestedFor(urlEqualTo("/v2/models/simple/infer"))
                .withHeader("content-type", equalTo("application/octet-stream"))
                .withHeader("inference-header-content-length", equalTo("7"))
                .withRequestBody(binaryEqualTo(bytes)));
    }

    @Test
    void infer_withABodyOfManyPieces_passesTheBytes() throws Exception {
        byte[] bytes = random(3000 * 100);
        var composite = rest.bench().allocator().compositeBuffer(Integer.MAX_VALUE);
        for (int i = 0; i < 3000; i++) {
            byte[] piece = Arrays.copyOfRange(bytes, i * 100, i * 100 + 100);
            composite.addComponent(true, rest.buffer(piece));
        }
        SERVER.stubFor(any(anyUrl()).willReturn(okJson("{}")));
        RestBench.bytes(rest.infer(upstream(), rest.bench().call(), composite, RestBody.ALL_JSON));
        SERVER.verify(postRequestedFor(anyUrl()).withRequestBody(binaryEqualTo(bytes)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"3", "-1", "x", "99999999999", "+1", ""})
    void infer_withWrongHeaderLength_isABadResponse(String length) throws Exception {
        SERVER.stubFor(any(anyUrl())
                .willReturn(aResponse()
                        .withHeader("Inference-Header-Content-Length", length)
                        .withBody("{}")));
        OipException failure = rest.infer(upstream()).failure();
        assertThat(failure.code()).isEqualTo(ErrorCode.BAD_UPSTREAM_ANSWER);
    }

    @ParameterizedTest
    @ValueSource(strings = {".", "..", "", "a/b", "a%2Fb"})
    void model_thatIsNoPathSegment_isRefused(String name) throws Exception {
        ByteBuf body = rest.buffer(new byte[1]);
        var failure = rest.infer(upstream(), rest.bench().call(), ModelRef.of(name), body, -1)
                .failure();
        assertThat(failure).hasMessageStartingWith("model name '" + name + "': 1 to 255 bytes are expected");
        RestUpstream upstream = upstream();
        assertThat(rest.bench()
                        .send(reply -> upstream.send(
                                rest.bench().call(), new UpstreamRequest.ModelReadyRequest(ModelRef.of(name)), reply))
                        .failure()
                        .code())
                .isEqualTo(ErrorCode.INVALID_ARGUMENT);
    }

    @Test
    void header_thatCannotBeSent_isRefused() throws Exception {
        var failure = rest.infer(upstream(), rest.bench().call(Map.of("x", "a\r\nb: c")))
                .failure();
        assertThat(failure.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT);
    }

    @Test
    void message_onAnotherWire_isRefusedAndReleased() throws Exception {
        ByteBuf body = rest.buffer(new byte[1]);
        RestUpstream upstream = upstream();
        var failure = rest.bench()
                .send(reply -> upstream.send(
                        rest.bench().call(),
                        new UpstreamRequest.InferenceRequest(MODEL, new InferMessage.ProtobufMessage(body)),
                        reply))
                .failure();
        assertThat(failure).hasMessage("REST is expected, got PROTOBUF");
        assertThat(body.refCnt()).isZero();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "400|INVALID_ARGUMENT|{\"error\":\"wrong shape\"}|wrong shape",
                "404|NOT_FOUND|{\"detail\":\"Not Found\"}|Not Found",
                "422|INVALID_ARGUMENT|{\"detail\":[{\"loc\":[\"body\",\"inputs\",0],\"msg\":\"field required\"},"
                        + "{\"msg\":\"b\"}]}|body.inputs.0: field required; b",
                "500|INTERNAL|{\"code\":13,\"message\":\"boom\"}|boom",
                "500|INTERNAL|{\"error\":{\"message\":\"inner\"}}|inner",
                "500|INTERNAL|Internal Server Error|Internal Server Error",
                "503|UNAVAILABLE|<html><body>503</body></html>|upstream 'triton' returned status 503",
                "503|UNAVAILABLE||upstream 'triton' returned status 503",
                "429|RESOURCE_EXHAUSTED|{|{",
                "504|DEADLINE_EXCEEDED|{\"other\":1}|{\"other\":1}",
                "304|BAD_UPSTREAM_ANSWER||upstream 'triton' returned status 304",
                "204|BAD_UPSTREAM_ANSWER||upstream 'triton' returned status 204",
                "999|BAD_UPSTREAM_ANSWER|boom|upstream 'triton' returned status 999",
            })
    void status_ofTheServer_keepsItsText(int status, ErrorCode code, String body, String text) throws Exception {
        SERVER.stubFor(any(anyUrl()).willReturn(aResponse().withStatus(status).withBody(body)));
        OipException failure = rest.infer(upstream()).failure();
        assertThat(failure.code()).isEqualTo(code);
        assertThat(failure).hasMessage(text);
    }

    @ParameterizedTest
    @ValueSource(ints = {301, 302, 303, 307, 308})
    void redirect_isAFailureThatSaysSo_withoutWhatMayBeSecret(int status) throws Exception {
        SERVER.stubFor(any(anyUrl())
                .willReturn(aResponse()
                        .withStatus(status)
                        .withHeader("location", "https://login.example/a?state=s3cret#s3cret")
                        .withBody("elsewhere")));
        String text = "upstream 'triton' redirects to 'https://login.example/a' (status " + status
                + "), which is not followed: 'endpoints', 'tls', 'host' or 'path_prefix' must be another one";
        OipException failure = rest.infer(upstream()).failure();
        assertThat(failure.code()).isEqualTo(ErrorCode.BAD_UPSTREAM_ANSWER);
        assertThat(failure).hasMessage(text);
        assertThat(failure.isConfidential()).isTrue();
        RecordedReply ready =
                ask((upstream, r) -> upstream.send(rest.bench().call(), new UpstreamRequest.ServerReadyRequest(), r));
        assertThat(ready.failure()).hasMessage(text);
    }

    @Test
    void prefixAndHost_areInEachRequest() throws Exception {
        try (FakeRestServer server = FakeRestServer.sending(FakeRestServer.ok("{}"))) {
            Endpoint endpoint = server.endpoint();
            RestUpstream upstream = rest.upstream(TestConfigs.with(
                    UpstreamSettings.of("triton", endpoint, Duration.ofSeconds(60), Duration.ofSeconds(2), 1000),
                    Map.of("authority", "models.example", "pathPrefix", "/serving/ns")));

            RestBench.bytes(rest.infer(upstream));
            rest.bench()
                    .send(r -> upstream.send(rest.bench().call(), new UpstreamRequest.ServerReadyRequest(), r))
                    .response();

            assertThat(server.request().head())
                    .startsWith("POST /serving/ns/v2/models/simple/infer HTTP/1.1\r\nhost: models.example\r\n");
            assertThat(server.request().head())
                    .startsWith("GET /serving/ns/v2/health/ready HTTP/1.1\r\nhost: models.example\r\n");
        }
    }

    @Test
    void errorText_thatIsLong_isCut() throws Exception {
        SERVER.stubFor(any(anyUrl()).willReturn(aResponse().withStatus(500).withBody("a\nb" + "x".repeat(500))));
        assertThat(rest.infer(upstream()).failure()).hasMessage("a b" + "x".repeat(197));
    }

    @ParameterizedTest
    @CsvSource({"200,true", "400,false", "503,false", "404,false", "500,false"})
    void serverReady_isTheStatus(int status, boolean ready) throws Exception {
        SERVER.stubFor(get("/v2/health/ready").willReturn(aResponse().withStatus(status)));
        var reply =
                ask((upstream, r) -> upstream.send(rest.bench().call(), new UpstreamRequest.ServerReadyRequest(), r));
        assertThat(reply.response()).isEqualTo(new ReplyMessage.Ready(ready));
    }

    @ParameterizedTest
    @CsvSource({"200,true", "400,false", "503,false", "404,false"})
    void modelReady_isTheStatus(int status, boolean ready) throws Exception {
        SERVER.stubFor(get("/v2/models/simple/ready").willReturn(aResponse().withStatus(status)));
        assertThat(modelReady().response()).isEqualTo(new ReplyMessage.ModelReadyState(MODEL, ready));
    }

    /** The protocol document has the member {@code live} for the server as well. */
    @ParameterizedTest
    @CsvSource({
        "ready, false, false, false",
        "ready, ' false ', false, false",
        "live, false, false, true",
        "ready, true, true, true",
        "ready, null, true, true"
    })
    void ready_isNotWhatTheBodyDenies(String member, String value, boolean server, boolean model) throws Exception {
        SERVER.stubFor(any(anyUrl()).willReturn(okJson("{\"name\":\"simple\",\"" + member + "\":" + value + "}")));
        var reply =
                ask((upstream, r) -> upstream.send(rest.bench().call(), new UpstreamRequest.ServerReadyRequest(), r));
        assertThat(reply.response()).isEqualTo(new ReplyMessage.Ready(server));
        assertThat(modelReady().response()).isEqualTo(new ReplyMessage.ModelReadyState(MODEL, model));
    }

    @Test
    void modelReady_ofServerThatFails_fails() throws Exception {
        SERVER.stubFor(get("/v2/models/simple/ready").willReturn(aResponse().withStatus(500)));
        assertThat(modelReady().failure().code()).isEqualTo(ErrorCode.INTERNAL);
    }

    @Test
    void serverMetadata_isRead() throws Exception {
        SERVER.stubFor(get("/v2").willReturn(okJson("""
                {"name":"mlserver","version":"1.7.1","extensions":[]}""")));
        var reply = ask(
                (upstream, r) -> upstream.send(rest.bench().call(), new UpstreamRequest.ServerMetadataRequest(), r));
        assertThat(reply.response())
                .isEqualTo(new ReplyMessage.Server(new ServerMetadata("mlserver", "1.7.1", List.of())));
    }

    @Test
    void modelMetadata_isReadWithParameters() throws Exception {
        SERVER.stubFor(get("/v2/models/simple").willReturn(okJson("""
                {"name":"iris","versions":["v1"],"platform":"sklearn",
                 "inputs":[{"name":"x","datatype":"FP32","shape":[-1,4],"parameters":{"content_type":"np"}}],
                 "outputs":[{"name":"y","datatype":"INT64","shape":["2"],"parameters":null}],
                 "parameters":{"b":true,"i":-7,"d":0.5,"u":18446744073709551615,"n":null,"o":{},
                               "big":18446744073709551616}}""")));
        assertThat(modelMetadata().response())
                .isEqualTo(new ReplyMessage.Model(new ModelMetadata(
                        "iris",
                        List.of("v1"),
                        "sklearn",
                        List.of(new ModelMetadata.TensorMetadata(
                                "x", "FP32", Shape.of(-1, 4), Map.of("content_type", new Parameter.Text("np")))),
                        List.of(new ModelMetadata.TensorMetadata("y", "INT64", Shape.of(2), Map.of())),
                        Map.of(
                                "b", new Parameter.Bool(true),
                                "i", new Parameter.Int64(-7),
                                "d", new Parameter.Float64(0.5),
                                "u", new Parameter.Uint64(-1)))));
    }

    @Test
    void modelMetadata_withNulls_isRead() throws Exception {
        SERVER.stubFor(get("/v2/models/simple").willReturn(okJson("""
                {"name":"identity","versions":null,"platform":null,"inputs":[],"outputs":null,"parameters":{}}""")));
        assertThat(modelMetadata().response())
                .isEqualTo(new ReplyMessage.Model(
                        new ModelMetadata("identity", List.of(), "", List.of(), List.of(), Map.of())));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "[]", "{", "{\"inputs\":[{\"shape\":[1.5]}]}"})
    void modelMetadata_thatIsNot_isABadResponse(String body) throws Exception {
        SERVER.stubFor(get("/v2/models/simple").willReturn(okJson(body)));
        assertThat(modelMetadata().failure().code()).isEqualTo(ErrorCode.BAD_UPSTREAM_ANSWER);
    }

    @Test
    void modelMetadata_ofUnknownModel_isNotFound() throws Exception {
        SERVER.stubFor(get("/v2/models/simple").willReturn(aResponse().withStatus(404)));
        assertThat(modelMetadata().failure().code()).isEqualTo(ErrorCode.NOT_FOUND);
    }

    @Test
    void binary_byConfiguration_asksNobody() throws Exception {
        SERVER.stubFor(any(anyUrl()).willReturn(okJson("{}")));
        for (BinaryTensorData binary : List.of(BinaryTensorData.TRUE, BinaryTensorData.FALSE)) {
            RestUpstream upstream = rest.upstream(PoolLimits.DEFAULT, binary, Duration.ofSeconds(60), 1000, endpoint());
            RestBench.bytes(rest.infer(upstream));
            assertThat(upstream.peer().binaryTensorData()).isEqualTo(binary == BinaryTensorData.TRUE);
        }
        assertThat(SERVER.getAllServeEvents()).hasSize(2);
    }

    @ParameterizedTest
    @CsvSource({"binary_tensor_data,true", "classification,false"})
    void binary_auto_isLearntFromTheMetadata(String extension, boolean supported) throws Exception {
        SERVER.stubFor(any(anyUrl()).willReturn(okJson("{}")));
        SERVER.stubFor(get("/v2").willReturn(okJson("{\"extensions\":[\"" + extension + "\"]}")));
        RestUpstream upstream =
                rest.upstream(PoolLimits.DEFAULT, BinaryTensorData.AUTO, Duration.ofSeconds(60), 1000, endpoint());
        assertThat(upstream.peer().binaryTensorData()).isFalse();
        rest.bench()
                .send(reply -> upstream.send(rest.bench().call(), new UpstreamRequest.ServerMetadataRequest(), reply))
                .response();
        assertThat(upstream.peer().binaryTensorData()).isEqualTo(supported);
    }

    @Test
    void header_thatCannotBeSent_isRefusedByItsName() throws Exception {
        RecordedReply reply = rest.infer(upstream(), rest.bench().call(Map.of("x-note", "a\u0001")));
        assertThat(reply.failure()).hasMessage("header field x-note: a value without control characters is expected");
        assertThat(reply.failure().code()).isEqualTo(ErrorCode.INVALID_ARGUMENT);
    }
}
