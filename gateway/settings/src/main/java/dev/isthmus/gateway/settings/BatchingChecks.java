package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.ModelConfig.TargetConfig;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Checks of the section {@code batching} of one model, as far as the configuration alone tells. */
final class BatchingChecks {
    private final SectionChecks sections;
    private final GatewayConfig config;

    BatchingChecks(SectionChecks sections, GatewayConfig config) {
        this.sections = sections;
        this.config = config;
    }

    void run(ModelConfig model, BatchingConfig batching) {
        SectionCheck check = sections.of(batching);
        List<TargetConfig> targets = model.allTargets();
        if (!targets.isEmpty()
                && targets.stream().allMatch(each -> each.upstream().equals(GatewayConfig.LOCAL))) {
            check.problem("a target other than '" + GatewayConfig.LOCAL
                    + "' is expected: the local backend joins requests itself (dynamic_batching)");
        }
        if (check.valid("max_queue_delay_microseconds") && sections.of(model).valid("timeout")) {
            delay(check, batching, "timeout of the model", model.timeout());
            for (TargetConfig target : targets) {
                UpstreamConfig upstream = config.upstreams().get(target.upstream());
                delay(
                        check,
                        batching,
                        "timeout of upstream '" + target.upstream() + "'",
                        upstream == null || !sections.of(upstream).valid("timeout") ? null : upstream.timeout());
            }
        }
        if (check.valid("max_bytes")) {
            check.expect(
                    batching.maxBytes() <= config.limits().maxBodySize(),
                    "max_bytes",
                    "at most limits.max_body_size, " + config.limits().maxBodySize() + " bytes, is expected",
                    batching.maxBytes());
        }
    }

    private static void delay(SectionCheck check, BatchingConfig batching, String limit, @Nullable Duration timeout) {
        check.expect(
                timeout == null || batching.maxQueueDelay().compareTo(timeout) < 0,
                "max_queue_delay_microseconds",
                "less than the " + limit + (timeout == null ? "" : ", " + Units.written(timeout)) + ", is expected",
                batching.maxQueueDelayMicroseconds());
    }
}
