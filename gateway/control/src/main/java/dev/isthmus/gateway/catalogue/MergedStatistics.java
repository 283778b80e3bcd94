package dev.isthmus.gateway.catalogue;

import com.google.protobuf.Message;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.InferBatchStatistics;
import dev.isthmus.proto.InferResponseStatistics;
import dev.isthmus.proto.MemoryUsage;
import dev.isthmus.proto.ModelStatistics;
import dev.isthmus.proto.ModelStatisticsResponse;
import dev.isthmus.proto.StatisticDuration;
import java.util.Collection;
import java.util.Comparator;
import java.util.Map;
import java.util.TreeMap;

/**
 * The statistics of several servers as those of one. Counters are summed per name and version, batches per size, memory per
 * kind and device; the last inference is the latest. A sum that does not fit stays at the greatest value.
 */
public final class MergedStatistics {
    private static final Comparator<ModelStatistics> ORDER = Comparator.comparing(ModelStatistics::getName)
            .thenComparing(ModelStatistics::getVersion, VersionOrder.ORDER);
    private static final Comparator<MemoryUsage> MEMORY =
            Comparator.comparing(MemoryUsage::getType).thenComparing(MemoryUsage::getId);
    private static final long MOST = -1;

    private MergedStatistics() {}

    /**
     * Sums what servers answered, by name and version.
     *
     * @param answers with model names as clients ask for them
     * @throws OipException where more than 100,000 models would be answered
     */
    public static ModelStatisticsResponse of(Collection<ModelStatisticsResponse> answers) {
        Map<ModelStatistics, ModelStatistics> models = new TreeMap<>(ORDER);
        for (ModelStatisticsResponse answer : answers) {
            for (ModelStatistics model : answer.getModelStatsList()) {
                models.merge(model, sorted(model), MergedStatistics::sum);
                if (models.size() > MetadataLimits.ENTRIES) {
                    throw new OipException(
                            ErrorCode.RESOURCE_EXHAUSTED,
                            "statistics of at most " + MetadataLimits.ENTRIES
                                    + " models are answered: ask for one by its name");
                }
            }
        }
        return ModelStatisticsResponse.newBuilder()
                .addAllModelStats(models.values())
                .build();
    }

    /** One server's statistics in the form of a sum, which has no two batches of one size. */
    private static ModelStatistics sorted(ModelStatistics model) {
        ModelStatistics none = ModelStatistics.newBuilder()
                .setName(model.getName())
                .setVersion(model.getVersion())
                .build();
        return sum(none, model);
    }

    private static ModelStatistics sum(ModelStatistics one, ModelStatistics other) {
        ModelStatistics.Builder sum = one.toBuilder()
                .setLastInference(latest(one.getLastInference(), other.getLastInference()))
                .setInferenceCount(sum(one.getInferenceCount(), other.getInferenceCount()))
                .setExecutionCount(sum(one.getExecutionCount(), other.getExecutionCount()))
                .clearBatchStats()
                .addAllBatchStats(batches(one, other))
                .clearMemoryUsage()
                .addAllMemoryUsage(memory(one, other));
        if (other.hasInferenceStats()) {
            add(sum.getInferenceStatsBuilder(), other.getInferenceStats());
        }
        // A map of protobuf has no order of its own: sorted, so that equal sums are equal bytes.
        Map<String, InferResponseStatistics> responses = new TreeMap<>(one.getResponseStatsMap());
        other.getResponseStatsMap().forEach((key, value) -> responses.merge(key, value, MergedStatistics::sum));
        return sum.clearResponseStats().putAllResponseStats(responses).build();
    }

    private static Collection<InferBatchStatistics> batches(ModelStatistics one, ModelStatistics other) {
        Map<Long, InferBatchStatistics> batches = new TreeMap<>(Long::compareUnsigned);
        one.getBatchStatsList().forEach(batch -> batches.merge(batch.getBatchSize(), batch, MergedStatistics::sum));
        other.getBatchStatsList().forEach(batch -> batches.merge(batch.getBatchSize(), batch, MergedStatistics::sum));
        return batches.values();
    }

    private static Collection<MemoryUsage> memory(ModelStatistics one, ModelStatistics other) {
        Map<MemoryUsage, MemoryUsage> memory = new TreeMap<>(MEMORY);
        one.getMemoryUsageList().forEach(usage -> memory.merge(usage, usage, MergedStatistics::sum));
        other.getMemoryUsageList().forEach(usage -> memory.merge(usage, usage, MergedStatistics::sum));
        return memory.values();
    }

    private static MemoryUsage sum(MemoryUsage one, MemoryUsage other) {
        return one.toBuilder()
                .setByteSize(sum(one.getByteSize(), other.getByteSize()))
                .build();
    }

    private static InferBatchStatistics sum(InferBatchStatistics one, InferBatchStatistics other) {
        return add(one.toBuilder(), other).build();
    }

    private static InferResponseStatistics sum(InferResponseStatistics one, InferResponseStatistics other) {
        return add(one.toBuilder(), other).build();
    }

    /** Adds the durations of the other message, all of which are fields of their own; what no server says stays away. */
    private static <B extends Message.Builder> B add(B sum, Message other) {
        other.getAllFields().forEach((field, value) -> {
            if (value instanceof StatisticDuration duration) {
                sum.setField(field, sum((StatisticDuration) sum.getField(field), duration));
            }
        });
        return sum;
    }

    private static StatisticDuration sum(StatisticDuration one, StatisticDuration other) {
        return StatisticDuration.newBuilder()
                .setCount(sum(one.getCount(), other.getCount()))
                .setNs(sum(one.getNs(), other.getNs()))
                .build();
    }

    /** Of unsigned numbers. */
    private static long sum(long one, long other) {
        long sum = one + other;
        return Long.compareUnsigned(sum, one) < 0 ? MOST : sum;
    }

    private static long latest(long one, long other) {
        return Long.compareUnsigned(one, other) >= 0 ? one : other;
    }
}
