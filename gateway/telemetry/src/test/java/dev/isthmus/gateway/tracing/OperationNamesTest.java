package dev.isthmus.gateway.tracing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Operation.BodyForm;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.message.NonFinite;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

class OperationNamesTest {
    private static final ModelRef MODEL = ModelRef.of("secret-name");
    private static final ModelRef VERSION = new ModelRef("secret-name", "7");

    private static Operation.Infer infer(boolean stream) {
        return new Operation.Infer(MODEL, new BodyForm.RestForm(-1, 1, NonFinite.TOKEN), stream);
    }

    static Stream<Arguments> operations() {
        return Stream.of(
                arguments(new Operation.ServerLive(), "ServerLive", "/v2/health/live", false),
                arguments(new Operation.ServerReady(), "ServerReady", "/v2/health/ready", false),
                arguments(new Operation.GatewayReady(), "ServerReady", "/readyz", false),
                arguments(
                        new Operation.CheckHealth(new Operation.ModelReady(MODEL), true),
                        "ModelReady",
                        "/v2/models/{model}/ready",
                        false),
                arguments(new Operation.Reflect(), "ServerMetadata", "/v2", false),
                arguments(new Operation.ReadServerMetadata(), "ServerMetadata", "/v2", false),
                arguments(new Operation.DescribeApi(null), "ModelMetadata", "/openapi.json", false),
                arguments(new Operation.ModelReady(MODEL), "ModelReady", "/v2/models/{model}/ready", false),
                arguments(new Operation.ReadModelMetadata(MODEL), "ModelMetadata", "/v2/models/{model}", false),
                arguments(infer(false), "ModelInfer", "/v2/models/{model}/infer", true),
                arguments(infer(true), "ModelStreamInfer", "/v2/models/{model}/infer_stream", true),
                arguments(new Operation.InferStream(true), "ModelStreamInfer", "/v2/models/{model}/infer", true),
                arguments(new Operation.Generate(MODEL, false), "ModelInfer", "/v2/models/{model}/generate", true),
                arguments(
                        new Operation.Generate(MODEL, true), "ModelInfer", "/v2/models/{model}/generate_stream", true));
    }

    @ParameterizedTest
    @MethodSource("operations")
    void namesHaveNoValues(Operation operation, String method, String path, boolean posts) {
        assertThat(OperationNames.method(operation)).isEqualTo("inference.GRPCInferenceService/" + method);
        assertThat(operation.path(MODEL)).isEqualTo(path);
        assertThat(operation.path(VERSION)).isEqualTo(path.replace("{model}", "{model}/versions/{version}"));
        assertThat(operation.posts()).isEqualTo(posts);
    }

    @ParameterizedTest
    @EnumSource(Extension.class)
    void managementIsNamedByItsTemplates(Extension extension) {
        for (boolean change : new boolean[] {false, true}) {
            Operation manage = new Operation.Manage(extension, VERSION, "region", change, true, false);
            assertThat(manage.path(VERSION))
                    .startsWith("/v2/")
                    .endsWith("/" + extension.verb())
                    .doesNotContain("secret", "7", "/region/r");
            assertThat(manage.posts()).isEqualTo(change);
            String method = OperationNames.method(manage);
            assertThat(OperationNames.received("/" + method)).isEqualTo(method);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "/inference.GRPCInferenceService/ModelInfer",
        "/inference.GRPCInferenceService/ServerLive",
        "/grpc.health.v1.Health/Watch",
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
    })
    void knownMethods_areNames(String path) {
        assertThat(OperationNames.received(path)).isEqualTo(path.substring(1));
    }

    @Test
    void unknownMethods_areNot() {
        for (String path : new String[] {"", "/", "/a", "inference.GRPCInferenceService/ModelInfer", "/x/ModelInfer"}) {
            assertThat(OperationNames.received(path)).isEqualTo("_OTHER");
        }
    }

    @Test
    void longTexts_areCut_betweenCharacters() {
        assertThat(CallAttributes.cut("a".repeat(512))).hasSize(512);
        assertThat(CallAttributes.cut("a".repeat(513))).hasSize(512);
        assertThat(CallAttributes.cut("a".repeat(511) + "\ud83d\ude00")).hasSize(511);
    }
}
