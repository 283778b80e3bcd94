package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.ModelConfig.TargetConfig;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Checks of the section {@code batching} of one model, as far as the configuration alone tells. */
final class BatchingChecks {
    private final ConfigChecks checks;
    private final YamlReader yaml;
    private final SectionPositions positions;
    private final GatewayConfig config;

    BatchingChecks(ConfigChecks checks, YamlReader yaml, SectionPositions positions, GatewayConfig config) {
        this.checks = checks;
        this.yaml = yaml;
        this.positions = positions;
        this.config = config;
    }

    /** @param what for messages */
    void run(String what, ModelConfig model, BatchingConfig batching) {
        List<TargetConfig> targets = model.allTargets();
        if (!targets.isEmpty()
                && targets.stream().allMatch(each -> each.upstream().equals(GatewayConfig.LOCAL))) {
            yaml.problem(
                    positions.of(batching),
                    what + ": a target other than '" + GatewayConfig.LOCAL
                            + "' is expected: the local backend joins requests itself (dynamic_batching)");
        }
        if (checks.valid(batching, "max_queue_delay_microseconds")) {
            delay(what, model, batching, "timeout of the model", model.timeout());
            for (TargetConfig target : targets) {
                UpstreamConfig upstream = config.upstreams().get(target.upstream());
                delay(
                        what,
                        model,
                        batching,
                        "timeout of upstream '" + target.upstream() + "'",
                        upstream == null || !checks.valid(upstream, "timeout") ? null : upstream.timeout());
            }
        }
        if (checks.valid(batching, "max_bytes")
                && batching.maxBytes() > config.limits().maxBodySize()) {
            yaml.problem(
                    positions.of(batching, "max_bytes"),
                    what + ": max_bytes: at most limits.max_body_size, "
                            + config.limits().maxBodySize() + " bytes, is expected, got '" + batching.maxBytes() + "'");
        }
    }

    private void delay(
            String what, ModelConfig model, BatchingConfig batching, String limit, @Nullable Duration timeout) {
        if (timeout != null
                && checks.valid(model, "timeout")
                && batching.maxQueueDelay().compareTo(timeout) >= 0) {
            yaml.problem(
                    positions.of(batching, "max_queue_delay_microseconds"),
                    what + ": max_queue_delay_microseconds: less than the " + limit + ", " + Units.written(timeout)
                            + ", is expected, got '" + batching.maxQueueDelayMicroseconds() + "'");
        }
    }
}
