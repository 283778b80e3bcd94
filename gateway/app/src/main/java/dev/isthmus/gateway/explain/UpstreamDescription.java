package dev.isthmus.gateway.explain;

import dev.isthmus.gateway.settings.AdaptiveConcurrency;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.Hedging;
import dev.isthmus.gateway.settings.LocalConfig;
import dev.isthmus.gateway.settings.ModelControl;
import dev.isthmus.gateway.settings.QueueConfig;
import dev.isthmus.gateway.settings.ServerAddress;
import dev.isthmus.gateway.settings.Units;
import dev.isthmus.gateway.settings.UpstreamConfig;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** Describes in text how an upstream handles calls. */
record UpstreamDescription(GatewayConfig config) {

    List<String> of(String name) {
        UpstreamConfig upstream = config.upstreams().get(name);
        return upstream == null ? local() : remote(name, upstream);
    }

    private List<String> local() {
        LocalConfig local = config.local() == null ? LocalConfig.DEFAULT : config.local();
        return List.of("upstream 'local': "
                + (local.process() == LocalConfig.ProcessKind.OWN ? "a process of its own, " : "in-process, ")
                + (local.threads() == 0 ? "one thread per core, " : local.threads() + " threads, ")
                + local.queueSize() + " calls may wait, "
                + (local.modelControl() == ModelControl.NONE ? "all models loaded" : "models loaded on demand")
                + ", on " + local.device());
    }

    private static List<String> remote(String name, UpstreamConfig upstream) {
        List<String> lines = new ArrayList<>();
        lines.add("upstream '" + name + "': " + word(upstream.protocol()) + ", "
                + word(upstream.balance().policy()) + " over "
                + upstream.endpoints().stream().map(ServerAddress::toString).collect(Collectors.joining(", "))
                + (upstream.host() == null ? "" : ", as host " + upstream.host())
                + (upstream.pathPrefix() == null ? "" : ", below " + upstream.pathPrefix()));
        if (!upstream.headers().isEmpty()) {
            lines.add("  sent to its servers, in place of a client's: the headers "
                    + String.join(", ", new TreeSet<>(upstream.headers().keySet())));
        }
        lines.add("  timeout: " + Units.written(upstream.timeout()) + " in total"
                + (upstream.tryTimeout() == null
                        ? "; a server that hangs takes all of it, as there is no 'try_timeout'"
                        : ", " + Units.written(upstream.tryTimeout()) + " per attempt"));
        lines.add("  retries: " + retries(upstream.retry()));
        lines.add("  outliers: " + outliers(upstream.outliers()));
        UpstreamConfig.Breaker breaker = upstream.breaker();
        String opens = breaker.failureRate() >= 1
                ? "never opens"
                : "opens for " + Units.written(breaker.open()) + " if " + Units.share(breaker.failureRate())
                        + " of the last " + breaker.window() + " calls failed";
        lines.add("  breaker: " + opens + "; at most " + upstream.maxRequests() + " concurrent calls");
        Hedging hedging = upstream.hedging();
        if (hedging != null) {
            lines.add("  hedging: to a second server after " + Units.share(hedging.quantile())
                    + " of the model's latency, at least " + Units.written(hedging.minDelay()) + "; at most "
                    + Units.share(hedging.budget()) + " of the calls");
        }
        AdaptiveConcurrency adaptive = upstream.adaptiveConcurrency();
        if (adaptive != null) {
            lines.add("  adaptive concurrency: from " + adaptive.min() + " to " + adaptive.max()
                    + " concurrent calls of each server, as many as its latency allows");
        }
        QueueConfig queue = upstream.queue();
        if (queue != null) {
            lines.add("  queue: " + queue(queue));
        }
        lines.add("  known only at run time: its addresses" + sources(upstream) + ", their health, its model versions"
                + (adaptive == null ? "" : ", the limits of its servers"));
        return lines;
    }

    private static String queue(QueueConfig queue) {
        StringBuilder text = new StringBuilder("at these limits up to " + queue.maxWaiting() + " calls wait, "
                + queue.maxWaitingPerCaller() + " of one caller, for at most " + Units.written(queue.maxWait())
                + "; callers take turns");
        Map<String, Integer> weights = new TreeMap<>(queue.weights());
        queue.groupWeights().forEach((group, weight) -> weights.put("group " + group, weight));
        if (!weights.isEmpty()) {
            text.append(" by their weights ").append(list(weights));
        }
        if (!queue.shares().isEmpty()) {
            text.append(", models by their shares ").append(list(new TreeMap<>(queue.shares())));
        }
        if (queue.priorityLevels() > 0) {
            text.append(", a caller's calls by priority, ")
                    .append(queue.priorityLevels())
                    .append(" levels");
        }
        if (queue.reserved() > 0) {
            text.append("; ").append(Units.share(queue.reserved())).append(" is kept for callers with few calls");
        }
        return text.toString();
    }

    private static String list(Map<String, Integer> numbers) {
        return numbers.entrySet().stream()
                .map(entry -> entry.getKey() + "=" + entry.getValue())
                .collect(Collectors.joining(", ", "(", ")"));
    }

    private static String outliers(UpstreamConfig.Outliers outliers) {
        UpstreamConfig.ErrorRate rate = outliers.errorRate();
        List<String> causes = new ArrayList<>();
        if (outliers.consecutiveFailures() > 0) {
            causes.add(outliers.consecutiveFailures() + " consecutive failures");
        }
        if (rate.threshold() > 0) {
            causes.add(Units.share(rate.threshold()) + " of failed calls in " + Units.written(rate.interval()));
        }
        if (rate.deviations() > 0) {
            causes.add(rate.deviations() + " standard deviations from the other servers");
        }
        return causes.isEmpty()
                ? "none are ejected"
                : String.join(" or ", causes) + " eject a server for " + Units.written(outliers.ejection())
                        + ", at most " + Units.share(outliers.maxEjected()) + " of them at once";
    }

    private static String retries(UpstreamConfig.Retry retry) {
        if (retry.retries() == 0) {
            return "none";
        }
        String on = new TreeSet<>(retry.on())
                .stream().map(UpstreamDescription::word).collect(Collectors.joining(", "));
        return retry.retries() + " on another server, on " + on + "; at most " + Units.share(retry.budget())
                + " of the calls, bodies of at most " + Units.size(retry.maxBody());
    }

    private static String sources(UpstreamConfig upstream) {
        Set<String> sources = new TreeSet<>();
        for (ServerAddress address : upstream.endpoints()) {
            switch (address) {
                case ServerAddress.HostAddress at -> {
                    if (!at.endpoint().literal()) {
                        sources.add("DNS");
                    }
                }
                case ServerAddress.SrvAddress service -> sources.add("DNS");
                case ServerAddress.KubernetesService service -> sources.add("Kubernetes");
            }
        }
        return sources.isEmpty() ? "" : " (" + String.join(", ", sources) + ")";
    }

    private static String word(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }
}
