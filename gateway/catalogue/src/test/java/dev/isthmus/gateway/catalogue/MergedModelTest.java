package dev.isthmus.gateway.catalogue;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.catalogue.MergedModel.Drift;
import dev.isthmus.gateway.catalogue.MergedModel.ModelDescription;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.Shape;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class MergedModelTest {
    private static final ServerId FIRST = new ServerId("triton", "1");
    private static final ServerId SECOND = new ServerId("triton", "2");
    private static final ServerId CANARY = new ServerId("mlserver", "canary");

    @Test
    void noSource_isEmpty() {
        assertThat(MergedModel.of("m", List.of())).isEmpty();
    }

    @Test
    void oneTriton_isAsRecordedWithTheRequestedName() throws IOException {
        ModelMetadata simple = Golden.model("triton_model_metadata");

        MergedModel merged = merge("alias", said(FIRST, true, simple));

        assertThat(merged.metadata())
                .isEqualTo(new ModelMetadata(
                        "alias", List.of("1"), "python", simple.inputs(), simple.outputs(), Map.of()));
        assertThat(merged.drift()).isEmpty();
    }

    @Test
    void equalReplicas_haveNoDrift() throws IOException {
        ModelMetadata simple = Golden.model("triton_model_metadata");

        assertThat(merge("simple", said(FIRST, true, simple), said(SECOND, true, simple))
                        .drift())
                .isEmpty();
    }

    @Test
    void mlserverAndKserve_thatNameNothing_disagreeWithNobody() throws IOException {
        ModelMetadata versioned = Golden.model("triton_model_metadata_versioned");

        MergedModel merged = merge(
                "versioned",
                said(CANARY, true, Golden.model("mlserver_model_metadata_versioned")),
                said(SECOND, true, Golden.model("kserve_model_metadata")),
                said(FIRST, true, versioned));

        assertThat(merged.metadata()).isEqualTo(versioned);
        assertThat(merged.drift()).isEmpty();
    }

    @Test
    void tritonAndMlserver_recorded_driftInEverything() throws IOException {
        MergedModel merged = merge(
                "iris",
                said(SECOND, true, Golden.model("mlserver_model_metadata")),
                said(FIRST, true, Golden.model("triton_model_metadata_versioned")));

        assertThat(merged.metadata().versions()).containsExactly("1", "3", "v1");
        assertThat(merged.metadata().platform()).isEqualTo("sklearn");
        assertThat(merged.drift())
                .containsExactly(
                        new Drift(SECOND, Drift.DriftKind.VERSIONS, "", "[1, 3, v1]", "[v1]"),
                        new Drift(FIRST, Drift.DriftKind.PLATFORM, "", "sklearn", "python"),
                        new Drift(FIRST, Drift.DriftKind.VERSIONS, "", "[1, 3, v1]", "[1, 3]"),
                        new Drift(FIRST, Drift.DriftKind.INPUT_MISSING, "input 'predict'", "FP32[-1,4]", ""),
                        new Drift(FIRST, Drift.DriftKind.INPUT_EXTRA, "input 'INPUT0'", "", "INT32[-1]"),
                        new Drift(FIRST, Drift.DriftKind.OUTPUT_MISSING, "output 'predict'", "INT64[-1,1]", ""),
                        new Drift(FIRST, Drift.DriftKind.OUTPUT_EXTRA, "output 'OUTPUT0'", "", "INT32[-1]"));
    }

    @Test
    void datatypeAndShape_ofOneReplica_areReported() {
        MergedModel merged =
                merge("m", said(FIRST, true, model("FP32", -1, 4)), said(SECOND, true, model("FP16", -1, 8)));

        assertThat(merged.drift())
                .containsExactly(
                        new Drift(SECOND, Drift.DriftKind.DATATYPE, "input 'x'", "FP32", "FP16"),
                        new Drift(SECOND, Drift.DriftKind.SHAPE, "input 'x'", "[-1,4]", "[-1,8]"));
    }

    @Test
    void targetsOfOtherVersionsAndNames_areNoDrift_andTheirVersionsAreMerged() {
        ModelRef first = new ModelRef("m", "1");
        ModelRef third = new ModelRef("m", "3");
        MergedModel merged = merge(
                "m",
                said(FIRST, first, true, versions(model("FP32", 4), "1")),
                said(FIRST, third, true, versions(model("FP16", 8), "3")),
                said(SECOND, first, true, versions(model("FP32", 4), "1")),
                said(SECOND, third, true, versions(model("FP16", 8), "3")),
                said(CANARY, ModelRef.of("other"), true, versions(model("INT8", 1), "2")));

        assertThat(merged.metadata().versions()).containsExactly("1", "2", "3");
        assertThat(merged.drift()).isEmpty();
    }

    @Test
    void targetsOnOtherUpstreams_areNoDrift() {
        assertThat(merge("m", said(FIRST, true, model("FP32", -1, 4)), said(CANARY, true, model("FP16", -1, 8)))
                        .drift())
                .isEmpty();
    }

    @Test
    void replicasOfOneTarget_areComparedWithEachOther() {
        ModelRef first = new ModelRef("m", "1");
        ModelRef third = new ModelRef("m", "3");
        MergedModel merged = merge(
                "m",
                said(FIRST, first, true, model("FP32", 4)),
                said(FIRST, third, true, model("FP16", 8)),
                said(SECOND, third, true, model("FP16", 9)));

        assertThat(merged.drift()).containsExactly(new Drift(SECOND, Drift.DriftKind.SHAPE, "input 'x'", "[8]", "[9]"));
    }

    private static ModelMetadata versions(ModelMetadata model, String... versions) {
        return new ModelMetadata(
                model.name(), List.of(versions), model.platform(), model.inputs(), model.outputs(), model.parameters());
    }

    @Test
    void form_isOfTheFirstReadySource() {
        MergedModel merged = merge("m", said(FIRST, false, model("FP32", 1)), said(SECOND, true, model("FP16", 1)));

        assertThat(merged.metadata().inputs().getFirst().dataType()).isEqualTo("FP16");
        assertThat(merged.drift())
                .containsExactly(new Drift(FIRST, Drift.DriftKind.DATATYPE, "input 'x'", "FP16", "FP32"));
    }

    @Test
    void form_noneReady_isOfTheFirst() {
        assertThat(merge("m", said(FIRST, false, model("FP32", 1)), said(SECOND, false, model("FP16", 1)))
                        .metadata()
                        .inputs()
                        .getFirst()
                        .dataType())
                .isEqualTo("FP32");
    }

    @Test
    void form_parametersAreKept() {
        Map<String, Parameter> parameters = Map.of("content_type", new Parameter.Text("np"));
        ModelMetadata model = new ModelMetadata("m", List.of(), "", List.of(), List.of(), parameters);

        assertThat(merge("m", said(FIRST, true, model)).metadata().parameters()).isEqualTo(parameters);
    }

    @Test
    void tensors_inAnotherOrder_areNoDrift() {
        TensorMetadata one = tensor("a", "FP32", 1);
        TensorMetadata two = tensor("b", "FP32", 1);

        assertThat(merge("m", said(FIRST, true, model(one, two)), said(SECOND, true, model(two, one)))
                        .drift())
                .isEmpty();
    }

    @Test
    void platform_isThatOfMost() {
        MergedModel merged = merge(
                "m",
                said(FIRST, true, platform("tensorrt")),
                said(SECOND, true, platform("onnx")),
                said(new ServerId(FIRST.upstream(), "third:8001"), true, platform("onnx")));

        assertThat(merged.metadata().platform()).isEqualTo("onnx");
        assertThat(merged.drift()).containsExactly(new Drift(FIRST, Drift.DriftKind.PLATFORM, "", "onnx", "tensorrt"));
    }

    @Test
    void platform_asOftenAsAnother_isTheFirst() {
        assertThat(merge(
                                "m",
                                said(FIRST, true, platform("")),
                                said(SECOND, true, platform("b")),
                                said(CANARY, true, platform("a")))
                        .metadata()
                        .platform())
                .isEqualTo("b");
    }

    @Test
    void drift_ofManyTensors_isBounded() {
        List<TensorMetadata> many = new ArrayList<>();
        for (int i = 0; i < 1_000; i++) {
            many.add(tensor("x".repeat(600) + i, "FP32", 1));
        }
        MergedModel merged = merge(
                "m",
                said(FIRST, true, model("FP32", 1)),
                said(SECOND, true, model(many.toArray(TensorMetadata[]::new))));

        assertThat(merged.drift())
                .hasSize(256)
                .allMatch(drift -> drift.subject().length() <= 512);
    }

    private static MergedModel merge(String name, ModelDescription... sources) {
        return MergedModel.of(name, List.of(sources)).orElseThrow();
    }

    private static ModelDescription said(ServerId source, boolean ready, ModelMetadata metadata) {
        return said(source, ModelRef.of("m"), ready, metadata);
    }

    private static ModelDescription said(ServerId source, ModelRef requested, boolean ready, ModelMetadata metadata) {
        return new ModelDescription(source, requested, ready, metadata);
    }

    private static ModelMetadata model(String dataType, long... shape) {
        return model(tensor("x", dataType, shape));
    }

    private static ModelMetadata model(TensorMetadata... inputs) {
        return new ModelMetadata("m", List.of(), "", List.of(inputs), List.of(), Map.of());
    }

    private static ModelMetadata platform(String platform) {
        return new ModelMetadata("m", List.of(), platform, List.of(), List.of(), Map.of());
    }

    private static TensorMetadata tensor(String name, String dataType, long... shape) {
        return new TensorMetadata(name, dataType, Shape.of(shape), Map.of());
    }
}
