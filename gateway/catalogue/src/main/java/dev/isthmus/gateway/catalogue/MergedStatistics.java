package dev.isthmus.gateway.catalogue;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.FailureCause;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.InferBatchStatistics;
import dev.isthmus.proto.InferResponseStatistics;
import dev.isthmus.proto.MemoryUsage;
import dev.isthmus.proto.ModelStatistics;
import dev.isthmus.proto.ModelStatisticsResponse;
import dev.isthmus.proto.StatisticDuration;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BinaryOperator;
import java.util.stream.Stream;

/**
 * Merges the statistics of several servers. Counters are summed by name and version, batches by size, memory by kind
 * and device; the last inference is the latest. A sum that overflows saturates.
 */
public final class MergedStatistics {
    private static final Comparator<ModelStatistics> ORDER = Comparator.comparing(ModelStatistics::getName)
            .thenComparing(ModelStatistics::getVersion, VersionOrder.ORDER);
    private static final Comparator<InferBatchStatistics> BATCH =
            Comparator.comparing(InferBatchStatistics::getBatchSize, Long::compareUnsigned);
    private static final Comparator<MemoryUsage> MEMORY =
            Comparator.comparing(MemoryUsage::getType).thenComparing(MemoryUsage::getId);
    private static final long UINT64_MAX = -1;

    private MergedStatistics() {}

    /** The statistics of one server, with those of the model {@code there} under the client's name. */
    public static ModelStatisticsResponse read(ByteString content, String there, String client)
            throws InvalidProtocolBufferException {
        ModelStatisticsResponse.Builder response =
                ModelStatisticsResponse.newBuilder().mergeFrom(content);
        for (ModelStatistics.Builder model : response.getModelStatsBuilderList()) {
            if (model.getName().equals(there)) {
                model.setName(client);
            }
        }
        return response.build();
    }

    /**
     * Sums the servers' statistics by name and version.
     *
     * @param responses with client-side model names
     * @throws OipException if the result would have more than 100,000 models
     */
    public static ModelStatisticsResponse of(Collection<ModelStatisticsResponse> responses) {
        Map<ModelStatistics, ModelStatistics> models = new TreeMap<>(ORDER);
        for (ModelStatisticsResponse response : responses) {
            for (ModelStatistics model : response.getModelStatsList()) {
                models.merge(model, sorted(model), MergedStatistics::sum);
                if (models.size() > MetadataLimits.ENTRIES) {
                    throw new OipException(
                                    ErrorCode.RESOURCE_EXHAUSTED,
                                    "statistics are limited to " + MetadataLimits.ENTRIES
                                            + " models: request those of one model by its name")
                            .because(FailureCause.RESPONSE_TOO_LARGE);
                }
            }
        }
        return ModelStatisticsResponse.newBuilder()
                .addAllModelStats(models.values())
                .build();
    }

    /** One server's statistics in merged form: one entry per batch size. */
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
                .addAllBatchStats(
                        merged(one.getBatchStatsList(), other.getBatchStatsList(), BATCH, MergedStatistics::sum))
                .clearMemoryUsage()
                .addAllMemoryUsage(
                        merged(one.getMemoryUsageList(), other.getMemoryUsageList(), MEMORY, MergedStatistics::sum));
        if (other.hasInferenceStats()) {
            add(sum.getInferenceStatsBuilder(), other.getInferenceStats());
        }
        // Protobuf maps are unordered: sorted, so that equal sums have equal bytes.
        Map<String, InferResponseStatistics> responses = new TreeMap<>(one.getResponseStatsMap());
        other.getResponseStatsMap().forEach((key, value) -> responses.merge(key, value, MergedStatistics::sum));
        return sum.clearResponseStats().putAllResponseStats(responses).build();
    }

    /** The entries of both, those that are equal by this order as their sum. */
    private static <T> Collection<T> merged(List<T> one, List<T> other, Comparator<T> order, BinaryOperator<T> sum) {
        Map<T, T> all = new TreeMap<>(order);
        Stream.of(one, other).flatMap(List::stream).forEach(each -> all.merge(each, each, sum));
        return all.values();
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

    /** Adds the other message's durations, all of which are singular fields; fields that no server sets stay unset. */
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

    /** Unsigned, saturating. */
    private static long sum(long one, long other) {
        long sum = one + other;
        return Long.compareUnsigned(sum, one) < 0 ? UINT64_MAX : sum;
    }

    private static long latest(long one, long other) {
        return Long.compareUnsigned(one, other) >= 0 ? one : other;
    }
}
