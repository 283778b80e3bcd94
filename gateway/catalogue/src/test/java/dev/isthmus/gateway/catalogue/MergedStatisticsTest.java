package dev.isthmus.gateway.catalogue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.oip.FailureCause;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.InferBatchStatistics;
import dev.isthmus.proto.InferResponseStatistics;
import dev.isthmus.proto.InferStatistics;
import dev.isthmus.proto.MemoryUsage;
import dev.isthmus.proto.ModelStatistics;
import dev.isthmus.proto.ModelStatisticsResponse;
import dev.isthmus.proto.StatisticDuration;
import java.io.IOException;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class MergedStatisticsTest {

    @Test
    void noResponse_isEmpty() {
        assertThat(sum()).isEqualTo(ModelStatisticsResponse.getDefaultInstance());
    }

    @Test
    void oneTriton_isAsRecorded() throws IOException {
        ModelStatisticsResponse recorded = recorded();

        assertThat(MergedStatistics.of(List.of(recorded))).isEqualTo(recorded);
    }

    @Test
    void twoTritons_areTwiceOneOfThem() throws IOException {
        ModelStatistics one = recorded().getModelStats(0);
        ModelStatistics both =
                MergedStatistics.of(List.of(recorded(), recorded())).getModelStats(0);

        assertThat(both.getLastInference()).isEqualTo(one.getLastInference());
        assertThat(both.getInferenceCount()).isEqualTo(60);
        assertThat(both.getExecutionCount()).isEqualTo(60);
        assertThat(both.getInferenceStats())
                .isEqualTo(InferStatistics.newBuilder()
                        .setSuccess(duration(60, 2 * 83_248_867L))
                        .setFail(duration(0, 0))
                        .setQueue(duration(60, 2 * 5_372_138L))
                        .setComputeInput(duration(60, 2 * 1_524_367L))
                        .setComputeInfer(duration(60, 2 * 56_690_864L))
                        .setComputeOutput(duration(60, 2 * 19_527_953L))
                        .setCacheHit(duration(0, 0))
                        .setCacheMiss(duration(0, 0))
                        .build());
        assertThat(both.getBatchStatsList())
                .containsExactly(InferBatchStatistics.newBuilder()
                        .setBatchSize(1)
                        .setComputeInput(duration(60, 2 * 1_524_367L))
                        .setComputeInfer(duration(60, 2 * 56_690_864L))
                        .setComputeOutput(duration(60, 2 * 19_527_953L))
                        .build());
    }

    @Test
    void models_areByNameAndVersion() {
        assertThat(sum(
                                model("b", "10", 1),
                                model("b", "9", 2),
                                model("a", "1", 4),
                                model("b", "10", 8),
                                model("a", "", 16))
                        .getModelStatsList())
                .containsExactly(model("a", "", 16), model("a", "1", 4), model("b", "9", 2), model("b", "10", 9));
    }

    @Test
    void lastInference_isTheLatest() {
        ModelStatistics old = ModelStatistics.newBuilder().setLastInference(5).build();
        ModelStatistics late = ModelStatistics.newBuilder().setLastInference(7).build();

        assertThat(sum(old, late).getModelStats(0).getLastInference()).isEqualTo(7);
        assertThat(sum(late, old).getModelStats(0).getLastInference()).isEqualTo(7);
    }

    @Test
    void batches_areBySize() {
        assertThat(sum(batches(batch(4, 1), batch(1, 2)), batches(batch(8, 4), batch(4, 8)))
                        .getModelStats(0)
                        .getBatchStatsList())
                .containsExactly(batch(1, 2), batch(4, 9), batch(8, 4));
    }

    @Test
    void batches_ofOneSizeTwiceOnOneServer_areOne() {
        assertThat(sum(batches(batch(4, 1), batch(4, 2))).getModelStats(0).getBatchStatsList())
                .containsExactly(batch(4, 3));
    }

    @Test
    void memory_isByKindAndDevice() {
        assertThat(sum(
                                memory(usage("GPU", 1, 10), usage("CPU", 0, 1)),
                                memory(usage("GPU", 0, 100), usage("GPU", 1, 1_000)))
                        .getModelStats(0)
                        .getMemoryUsageList())
                .containsExactly(usage("CPU", 0, 1), usage("GPU", 0, 100), usage("GPU", 1, 1_010));
    }

    @Test
    void responses_areByTheirKey() {
        ModelStatistics one = responses("0", 1);
        ModelStatistics other =
                responses("0", 2).toBuilder().mergeFrom(responses("1", 4)).build();

        assertThat(sum(one, other).getModelStats(0))
                .isEqualTo(responses("0", 3).toBuilder()
                        .mergeFrom(responses("1", 4))
                        .build());
    }

    @Test
    void durationThatNoServerHas_staysAway() {
        ModelStatistics old = ModelStatistics.newBuilder()
                .setInferenceStats(InferStatistics.newBuilder().setSuccess(duration(1, 2)))
                .build();

        assertThat(sum(old, old).getModelStats(0).getInferenceStats())
                .isEqualTo(
                        InferStatistics.newBuilder().setSuccess(duration(2, 4)).build());
    }

    @Test
    void sumThatDoesNotFit_staysAtTheGreatest() {
        assertThat(sum(model("m", "", -2), model("m", "", 5))).isEqualTo(sum(model("m", "", -1)));
        assertThat(sum(model("m", "", Long.MAX_VALUE), model("m", "", 1)))
                .isEqualTo(sum(model("m", "", Long.MIN_VALUE)));
    }

    @Test
    void order_ofResponsesDoesNotMatter() throws IOException {
        ModelStatisticsResponse other = sum(model("simple", "1", 3), responses("0", 1), model("a", "", 1));

        assertThat(MergedStatistics.of(List.of(recorded(), other)).toByteString())
                .isEqualTo(MergedStatistics.of(List.of(other, recorded())).toByteString());
    }

    @Test
    void tooManyModels_areRefused() {
        ModelStatisticsResponse.Builder many = ModelStatisticsResponse.newBuilder();
        for (int i = 0; i <= 100_000; i++) {
            many.addModelStatsBuilder().setName("m" + i);
        }

        assertThatThrownBy(() -> MergedStatistics.of(List.of(many.build())))
                .isInstanceOfSatisfying(
                        OipException.class,
                        failure -> assertThat(failure.failureCause()).isEqualTo(FailureCause.RESPONSE_TOO_LARGE))
                .hasMessageContaining("100000");
    }

    private static ModelStatisticsResponse recorded() throws IOException {
        return ModelStatisticsResponse.parseFrom(Golden.message("triton_model_statistics"));
    }

    private static ModelStatisticsResponse sum(ModelStatistics... models) {
        return MergedStatistics.of(Stream.of(models)
                .map(model -> ModelStatisticsResponse.newBuilder()
                        .addModelStats(model)
                        .build())
                .toList());
    }

    private static ModelStatistics model(String name, String version, long count) {
        return ModelStatistics.newBuilder()
                .setName(name)
                .setVersion(version)
                .setInferenceCount(count)
                .build();
    }

    private static ModelStatistics batches(InferBatchStatistics... batches) {
        return ModelStatistics.newBuilder().addAllBatchStats(List.of(batches)).build();
    }

    private static ModelStatistics memory(MemoryUsage... usage) {
        return ModelStatistics.newBuilder().addAllMemoryUsage(List.of(usage)).build();
    }

    private static ModelStatistics responses(String key, long count) {
        return ModelStatistics.newBuilder()
                .putResponseStats(
                        key,
                        InferResponseStatistics.newBuilder()
                                .setEmptyResponse(duration(count, count))
                                .setCancel(duration(count, 0))
                                .build())
                .build();
    }

    private static InferBatchStatistics batch(long size, long count) {
        return InferBatchStatistics.newBuilder()
                .setBatchSize(size)
                .setComputeInfer(duration(count, 10 * count))
                .build();
    }

    private static MemoryUsage usage(String type, long id, long bytes) {
        return MemoryUsage.newBuilder()
                .setType(type)
                .setId(id)
                .setByteSize(bytes)
                .build();
    }

    private static StatisticDuration duration(long count, long ns) {
        return StatisticDuration.newBuilder().setCount(count).setNs(ns).build();
    }
}
