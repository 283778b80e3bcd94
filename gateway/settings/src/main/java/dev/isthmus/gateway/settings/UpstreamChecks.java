package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.UpstreamConfig.BalancePolicy;
import dev.isthmus.gateway.settings.UpstreamConfig.RetryOn;
import io.netty.util.NetUtil;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.nodes.Node;

/** Checks of one upstream. */
final class UpstreamChecks {
    private static final double MAX_RESERVED = 0.5;
    private static final Duration LONGEST_WAIT = Duration.ofMinutes(1);

    private final ConfigChecks checks;
    private final TlsChecks tls;
    private final YamlReader yaml;
    private final SectionPositions positions;

    UpstreamChecks(ConfigChecks checks, TlsChecks tls, YamlReader yaml, SectionPositions positions) {
        this.checks = checks;
        this.tls = tls;
        this.yaml = yaml;
        this.positions = positions;
    }

    /** @param name for messages */
    void run(String name, UpstreamConfig upstream) {
        String what = "upstream '" + name + "'";
        if (name.equals(GatewayConfig.LOCAL)) {
            yaml.problem(positions.of(upstream), what + ": the name is reserved for the local backend");
        }
        endpoints(what, upstream);
        if (checks.valid(upstream, "timeout", "try_timeout")
                && upstream.tryTimeout() != null
                && upstream.tryTimeout().compareTo(upstream.timeout()) >= 0) {
            yaml.problem(
                    positions.of(upstream, "try_timeout"),
                    what + ": try_timeout: less than the timeout of " + Units.written(upstream.timeout())
                            + " for all attempts is expected, got '" + Units.written(upstream.tryTimeout()) + "'");
        }
        if (upstream.tls() != null) {
            tls.upstream(what, upstream.tls());
        }
        balance(what, upstream);
        retry(what, upstream);
        UpstreamConfig.Breaker breaker = upstream.breaker();
        if (checks.valid(breaker) && breaker.minimumCalls() > breaker.window()) {
            yaml.problem(
                    positions.of(breaker, "minimum_calls"),
                    what + ": breaker: minimum_calls: at most the window of " + breaker.window()
                            + " calls is expected, got '" + breaker.minimumCalls() + "'");
        }
        adaptiveConcurrency(what, upstream.adaptiveConcurrency());
        hedging(what, upstream.hedging());
        queue(what, upstream.queue());
    }

    private void endpoints(String what, UpstreamConfig upstream) {
        List<ServerAddress> all = upstream.endpoints();
        Set<ServerAddress> seen = new HashSet<>();
        for (int i = 0; i < all.size(); i++) {
            Node node = positions.of(upstream, "endpoints", i, all.size());
            if (!seen.add(all.get(i)) && checks.readable(node)) {
                yaml.problem(node, what + ": endpoint: " + all.get(i) + " is given twice");
            }
            if (all.get(i) instanceof ServerAddress.SrvAddress service
                    && checks.readable(node)
                    && NetUtil.createByteArrayFromIpAddressString(service.name()) != null) {
                yaml.problem(
                        node,
                        what + ": endpoint: srv: needs a name of SRV records, got the address '" + service.name()
                                + "'");
            }
        }
    }

    private void balance(String what, UpstreamConfig upstream) {
        ServerDialect dialect = upstream.dialect();
        if (checks.valid(upstream, "balance", "dialect")
                && upstream.balance().policy() == BalancePolicy.QUEUE_AWARE
                && dialect != ServerDialect.AUTO
                && dialect != ServerDialect.TRITON) {
            yaml.problem(
                    positions.of(upstream.balance(), "policy"),
                    what + ": balance: policy: queue_aware reads Triton's metrics; dialect triton or auto is expected");
        }
    }

    private void retry(String what, UpstreamConfig upstream) {
        UpstreamConfig.Retry retry = upstream.retry();
        if (!checks.valid(upstream, "retry", "try_timeout")) {
            return;
        }
        if (retry.retries() > 0 && retry.on().isEmpty()) {
            yaml.problem(
                    positions.of(retry, "on"),
                    what + ": retry: on: with retries, at least one of unsent, unavailable, lost, timeout is expected");
        }
        if (retry.retries() > 0 && retry.on().contains(RetryOn.TIMEOUT) && upstream.tryTimeout() == null) {
            yaml.problem(positions.of(retry, "on"), what + ": retry: on: timeout needs a 'try_timeout'");
        }
    }

    private void hedging(String what, @Nullable Hedging hedging) {
        if (hedging == null) {
            return;
        }
        if (checks.valid(hedging, "quantile") && (hedging.quantile() <= 0 || hedging.quantile() >= 1)) {
            yaml.problem(
                    positions.of(hedging, "quantile"),
                    what + ": hedging: quantile: more than 0% and less than 100% is expected, got '"
                            + Units.share(hedging.quantile()) + "'");
        }
        if (checks.valid(hedging, "budget") && hedging.budget() <= 0) {
            yaml.problem(
                    positions.of(hedging, "budget"),
                    what + ": hedging: budget: more than 0% is expected; without the section nothing is hedged");
        }
    }

    private void queue(String what, @Nullable QueueConfig queue) {
        if (queue == null) {
            return;
        }
        if (checks.valid(queue, "max_waiting", "max_waiting_per_caller")
                && queue.maxWaitingPerCaller() > queue.maxWaiting()) {
            yaml.problem(
                    positions.of(queue, "max_waiting_per_caller"),
                    what + ": queue: max_waiting_per_caller: at most max_waiting, " + queue.maxWaiting()
                            + ", is expected, got '" + queue.maxWaitingPerCaller() + "'");
        }
        if (checks.valid(queue, "reserved") && queue.reserved() > MAX_RESERVED) {
            yaml.problem(
                    positions.of(queue, "reserved"),
                    what + ": queue: reserved: at most " + Units.share(MAX_RESERVED) + " is expected, got '"
                            + Units.share(queue.reserved()) + "'");
        }
        if (checks.valid(queue, "max_wait") && queue.maxWait().compareTo(LONGEST_WAIT) > 0) {
            yaml.problem(
                    positions.of(queue, "max_wait"),
                    what + ": queue: max_wait: at most " + Units.written(LONGEST_WAIT) + " is expected, got '"
                            + Units.written(queue.maxWait()) + "'");
        }
    }

    private void adaptiveConcurrency(String what, @Nullable AdaptiveConcurrency adaptive) {
        if (adaptive != null && checks.valid(adaptive, "min", "max") && adaptive.min() > adaptive.max()) {
            yaml.problem(
                    positions.of(adaptive, "min"),
                    what + ": adaptive_concurrency: min: at most max, " + adaptive.max() + ", is expected, got '"
                            + adaptive.min() + "'");
        }
    }
}
