package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.flow.BinaryRequest.Body;
import dev.isthmus.gateway.flow.BinaryRequest.Over;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.gateway.validation.DeclaredSignatures;
import dev.isthmus.gateway.validation.ModelSignature;
import dev.isthmus.gateway.validation.ModelSignatures;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.Shape;
import dev.isthmus.proto.InferTensorContents;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import io.micrometer.core.instrument.Counter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Requests that do not match what their model declares, on each way through the gateway. */
class RequestValidationTest {
    private static final int LARGE = 200_000;
    private static final String DATATYPE = "input 'INPUT0' of model '%s': datatype INT32 is expected, got FP32";

    private FakeGrpcServer grpc;
    private FakeRestServer rest;
    private Stage stage;
    private @TempDir Path directory;

    /** What the model {@code m} declares. */
    private DeclaredSignatures declared = new DeclaredSignatures(
            List.of(ModelSignature.of(new ModelMetadata(
                    "m",
                    List.of(),
                    "",
                    List.of(new TensorMetadata("INPUT0", "INT32", Shape.of(-1), Map.of())),
                    List.of(new TensorMetadata("OUTPUT0", "INT32", Shape.of(-1), Map.of())),
                    Map.of()))),
            true);

    /** A request with one input, whose elements are zeros of four bytes. */
    private record Sent(String input, String datatype, int extent, String output) {
        static final Sent VALID = new Sent("INPUT0", "INT32", 2, "OUTPUT0");
        static final Sent OTHER_DATATYPE = new Sent("INPUT0", "FP32", 2, "OUTPUT0");

        Sent withExtent(int other) {
            return new Sent(input, datatype, other, output);
        }

        String json() {
            return "{\"id\":\"a\",\"inputs\":[{\"name\":\"" + input + "\",\"datatype\":\"" + datatype
                    + "\",\"shape\":[" + extent + "],\"data\":[" + "0,".repeat(extent - 1)
                    + "0]}],\"outputs\":[{\"name\":\"" + output + "\"}]}";
        }

        Body binary() {
            byte[] json = ("{\"id\":\"a\",\"inputs\":[" + Body.input(input, datatype, extent, 4L * extent)
                            + "],\"outputs\":[{\"name\":\"" + output + "\"}]}")
                    .getBytes(StandardCharsets.US_ASCII);
            byte[] all = new byte[json.length + 4 * extent];
            System.arraycopy(json, 0, all, 0, json.length);
            return new Body(all, json.length);
        }

        ModelInferRequest.Builder message(String model) {
            return ModelInferRequest.newBuilder()
                    .setModelName(model)
                    .setId("a")
                    .addInputs(tensor())
                    .addOutputs(ModelInferRequest.InferRequestedOutputTensor.newBuilder()
                            .setName(output));
        }

        private ModelInferRequest.InferInputTensor.Builder tensor() {
            return ModelInferRequest.InferInputTensor.newBuilder()
                    .setName(input)
                    .setDatatype(datatype)
                    .addShape(extent);
        }

        ModelInferRequest raw(String model) {
            return message(model)
                    .addRawInputContents(ByteString.copyFrom(new byte[4 * extent]))
                    .build();
        }

        ModelInferRequest typed(String model) {
            InferTensorContents.Builder contents = InferTensorContents.newBuilder();
            for (int i = 0; i < extent; i++) {
                if (datatype.equals("FP32")) {
                    contents.addFp32Contents(0);
                } else {
                    contents.addIntContents(0);
                }
            }
            return message(model).setInputs(0, tensor().setContents(contents)).build();
        }
    }

    /** A way through the gateway; {@code send} returns {@code ok}, or the error text. */
    private enum Way {
        JSON_TO_GRPC {
            @Override
            String send(Stage stage, Sent sent) throws Exception {
                return json(stage, "g", sent);
            }
        },
        JSON_TO_REST {
            @Override
            String send(Stage stage, Sent sent) throws Exception {
                return json(stage, "r", sent);
            }
        },
        BINARY_TO_GRPC {
            @Override
            String send(Stage stage, Sent sent) throws Exception {
                return binary(stage, "g", sent);
            }
        },
        BINARY_TO_REST {
            @Override
            String send(Stage stage, Sent sent) throws Exception {
                return binary(stage, "r", sent);
            }
        },
        BINARY_IN_PARTS {
            @Override
            String send(Stage stage, Sent sent) throws Exception {
                return binary(stage, "g", sent.withExtent(LARGE));
            }
        },
        RAW_TO_GRPC {
            @Override
            String send(Stage stage, Sent sent) throws Exception {
                return unary(stage, sent.raw("g"));
            }
        },
        RAW_TO_REST {
            @Override
            String send(Stage stage, Sent sent) throws Exception {
                return unary(stage, sent.raw("r"));
            }
        },
        RAW_IN_PARTS {
            @Override
            String send(Stage stage, Sent sent) throws Exception {
                return unary(stage, sent.withExtent(LARGE).raw("g"));
            }
        },
        TYPED_TO_GRPC {
            @Override
            String send(Stage stage, Sent sent) throws Exception {
                return unary(stage, sent.typed("g"));
            }
        },
        STREAM_TO_GRPC {
            @Override
            String send(Stage stage, Sent sent) throws Exception {
                return stream(stage, sent.raw("g"));
            }
        },
        STREAM_TO_REST {
            @Override
            String send(Stage stage, Sent sent) throws Exception {
                return stream(stage, sent.typed("r"));
            }
        };

        abstract String send(Stage stage, Sent sent) throws Exception;

        /** The model as the client names it. */
        String model() {
            return name().endsWith("REST") ? "r" : "g";
        }
    }

    private static String text(Http1Client.Response response) {
        return response.status() == 200
                ? "ok"
                : response.text().replace("{\"error\":\"", "").replace("\"}", "");
    }

    private static String json(Stage stage, String model, Sent sent) throws Exception {
        try (Http1Client client = stage.http1()) {
            return text(
                    client.post("/v2/models/" + model + "/infer", sent.json()).response());
        }
    }

    private static String binary(Stage stage, String model, Sent sent) throws Exception {
        Body body = sent.binary();
        try (Http1Client client = stage.http1()) {
            return text(client.post(
                            "/v2/models/" + model + "/infer",
                            body.bytes(),
                            "Inference-Header-Content-Length: " + body.jsonLength())
                    .response());
        }
    }

    private static String unary(Stage stage, ModelInferRequest request) throws Exception {
        GrpcClient call = GrpcClient.ask(stage.channel(), "ModelInfer", new Metadata(), request.toByteArray());
        Status status = call.status();
        return status.isOk() ? "ok" : String.valueOf(status.getDescription());
    }

    private static String stream(Stage stage, ModelInferRequest request) throws Exception {
        GrpcClient call = GrpcClient.ask(stage.channel(), "ModelStreamInfer", new Metadata(), request.toByteArray());
        String error = Infer.envelope(call.response()).getErrorMessage();
        assertThat(call.status().isOk()).isTrue();
        return error.isEmpty() ? "ok" : error;
    }

    @BeforeEach
    void start() throws Exception {
        grpc = new FakeGrpcServer(RequestValidationTest::respond);
        rest = FakeRestServer.sending(FakeRestServer.ok(Infer.responseJson("m", "a", 7)));
        ModelSignatures signatures =
                (requested, upstream, served) -> served.name().equals("m") ? declared : DeclaredSignatures.UNKNOWN;
        stage = Stage.with(
                ConfigLoader.load(Files.writeString(directory.resolve("isthmus.yaml"), """
                        listeners: [{host: 127.0.0.1, port: 0}]
                        validate: strict
                        upstreams:
                          grpc: {protocol: grpc, dialect: triton, endpoints: ["127.0.0.1:%d"], retry: {retries: 0}}
                          rest: {protocol: rest, dialect: triton, endpoints: ["127.0.0.1:%d"]}
                        models:
                          g: {upstream: grpc, model: m}
                          r: {upstream: rest, model: m}
                          reported: {upstream: grpc, model: m, validate: report}
                          ignored: {upstream: grpc, model: m, validate: off}
                          undescribed: {upstream: grpc}
                        """.formatted(
                                grpc.endpoint().port(), rest.endpoint().port()))),
                data -> new ControlPlane() {
                    @Override
                    public ModelSignatures signatures() {
                        return signatures;
                    }
                });
    }

    private static void respond(ServerCall<byte[], byte[]> call, byte[] message) {
        ModelInferResponse response = Infer.responseTo(Infer.request(message), 7);
        boolean streams = call.getMethodDescriptor().getFullMethodName().endsWith("ModelStreamInfer");
        call.sendMessage(streams ? Infer.enveloped(response) : response.toByteArray());
    }

    @AfterEach
    void stop() throws Exception {
        stage.close();
        grpc.close();
        rest.close();
    }

    private double count(String meter, String model, String reason) {
        Counter counter = stage.proxy()
                .meters()
                .find(meter)
                .tag("model", model)
                .tag("reason", reason)
                .counter();
        return counter == null ? 0 : counter.count();
    }

    /** Whether a server has received an inference. */
    private boolean reached() throws InterruptedException {
        boolean posted = false;
        while (rest.unread() > 0) {
            posted |= rest.request().head().contains("/infer ");
        }
        return posted || grpc.opened.stream().anyMatch(call -> call.method().contains("Infer"));
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void requestThatMatches_isSent(Way way) throws Exception {
        assertThat(way.send(stage, Sent.VALID)).isEqualTo("ok");
        assertThat(reached()).isTrue();
        assertThat(count("isthmus.requests.invalid", way.model(), "datatype")).isZero();
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void otherDatatype_isRefused_beforeAnythingIsSent(Way way) throws Exception {
        assertThat(way.send(stage, Sent.OTHER_DATATYPE)).isEqualTo(DATATYPE.formatted(way.model()));
        assertThat(reached()).isFalse();
        assertThat(count("isthmus.requests.invalid", way.model(), "datatype")).isEqualTo(1);
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void unknownOutput_isRefused_beforeAnythingIsSent(Way way) throws Exception {
        assertThat(way.send(stage, new Sent("INPUT0", "INT32", 2, "LOGITS")))
                .isEqualTo("model '" + way.model() + "' has no output 'LOGITS': 'OUTPUT0' is expected");
        assertThat(reached()).isFalse();
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void unknownInput_isRefused_beforeAnythingIsSent(Way way) throws Exception {
        assertThat(way.send(stage, new Sent("x", "INT32", 2, "OUTPUT0")))
                .isEqualTo("model '" + way.model() + "' has no input 'x': 'INPUT0' is expected");
        assertThat(reached()).isFalse();
    }

    @ParameterizedTest
    @EnumSource(Over.class)
    void requestInParts_isRefusedByItsJson(Over over) throws Exception {
        Body body = Sent.OTHER_DATATYPE.withExtent(LARGE).binary();
        try (BinaryRequest request = over.begin(stage.port(), "g", body)) {
            request.send(0, body.jsonLength() + 8);
            assertThat(request.status()).isEqualTo(400);
        }
        assertThat(reached()).isFalse();
    }

    @Test
    void reported_isCountedAndSent() throws Exception {
        assertThat(json(stage, "reported", Sent.OTHER_DATATYPE)).isEqualTo("ok");
        assertThat(reached()).isTrue();
        assertThat(count("isthmus.requests.invalid", "reported", "datatype")).isEqualTo(1);
    }

    @Test
    void switchedOff_isSent() throws Exception {
        assertThat(json(stage, "ignored", Sent.OTHER_DATATYPE)).isEqualTo("ok");
        assertThat(count("isthmus.requests.invalid", "ignored", "datatype")).isZero();
    }

    @Test
    void modelWithoutMetadata_takesEverything_andIsCounted() throws Exception {
        assertThat(json(stage, "undescribed", Sent.OTHER_DATATYPE)).isEqualTo("ok");
        assertThat(count("isthmus.requests.unvalidated", "undescribed", "unknown"))
                .isEqualTo(1);
    }

    @Test
    void serverThatHasNotDescribedTheModel_mayTakeTheRequest() throws Exception {
        declared = new DeclaredSignatures(declared.signatures(), false);
        assertThat(json(stage, "g", Sent.OTHER_DATATYPE)).isEqualTo("ok");
        assertThat(count("isthmus.requests.unvalidated", "g", "incomplete")).isEqualTo(1);
    }

    @Test
    void comparisonThatFails_isCounted_andTheRequestSent() throws Exception {
        ModelSignatures broken = (requested, upstream, served) -> {
            throw new IllegalStateException("broken");
        };
        try (Stage other = Stage.with(stage.proxy().config(), data -> new ControlPlane() {
            @Override
            public ModelSignatures signatures() {
                return broken;
            }
        })) {
            assertThat(json(other, "g", Sent.VALID)).isEqualTo("ok");
            assertThat(other.proxy()
                            .meters()
                            .get("isthmus.requests.unvalidated")
                            .tag("reason", "fault")
                            .counter()
                            .count())
                    .isEqualTo(1);
        }
    }

    @Test
    void streamGoesOn_afterARefusedRequest() throws Exception {
        GrpcClient call = GrpcClient.open(stage.channel(), "ModelStreamInfer");
        call.send(Sent.OTHER_DATATYPE.raw("g").toByteArray());
        assertThat(Infer.envelope(call.response()).getErrorMessage()).isEqualTo(DATATYPE.formatted("g"));
        call.send(Sent.VALID.raw("g").toByteArray());
        call.end();
        assertThat(Infer.envelope(call.response()).getErrorMessage()).isEmpty();
        assertThat(call.status().isOk()).isTrue();
    }
}
