package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import io.netty.util.NetUtil;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

@Doc("One or more servers of one kind that serve the same models.")
public record UpstreamConfig(
        @Doc("Protocol in which the servers are called.") @Required
        UpstreamProtocol protocol,

        @Doc("host:port of each server. Every address of a host name is a server of its own; srv:NAME looks up "
                + "SRV records; k8s:NAMESPACE/SERVICE:PORT-NAME watches a Service's EndpointSlices, where a Service "
                + "with one port needs no PORT-NAME.")
        @Required
        @NotEmpty
        List<ServerAddress> endpoints,

        @Doc(
                "Host that requests name, with a port if servers expect one: Host over REST, :authority over gRPC. Default: "
                        + "the endpoint.")
        @Nullable
        String host,

        @Doc("What the paths of requests to REST servers begin with, as /serving/models: the servers are behind an "
                + "ingress.")
        @Nullable
        String pathPrefix,

        @Doc("Maximum age of looked-up addresses.") @Default("30s")
        Duration dnsRefresh,

        @Doc("Whether the servers support the binary tensor data extension over REST. auto: as their metadata say.")
        @Default("auto")
        BinaryTensorData binaryTensorData,

        @Doc("Which server's variant of the protocol is used. auto: by what the server says of itself.")
        @Default("auto")
        ServerDialect dialect,

        @Doc("Whether clients may refer to memory that they share with the server.")
        boolean sharedMemory,

        @Doc("Timeout for establishing a connection.") @Default("1s")
        Duration connectTimeout,

        @Doc("Timeout of one call with all its attempts, if the client sets no deadline. Streams have none.")
        @Default("60s")
        Duration timeout,

        @Doc("Timeout of one attempt.") @Nullable Duration tryTimeout,

        @Doc("Maximum concurrent calls; more are refused with 503.") @Range(min = 1, max = 1_000_000) @Default("1000")
        int maxRequests,

        @Doc("Whether every model in the servers' repository index is routed here, unless a name, alias or "
                + "pattern of 'models' takes it.")
        boolean discover,

        @Doc("Headers that the gateway sends to the servers, by name, with each request and health check, in place of "
                + "those of the same name from clients. Values are not shown. A change of them closes no connection.")
        @HeaderName
        Map<String, SecretText> headers,

        @Nullable UpstreamTls tls,
        @Nullable AdaptiveConcurrency adaptiveConcurrency,
        @Nullable Hedging hedging,
        @Nullable QueueConfig queue,
        Balance balance,
        Checks checks,
        Outliers outliers,
        Retry retry,
        Breaker breaker,
        UpstreamHttp2Abuse http2Abuse)
        implements CheckedSection {

    private static final Pattern HOST =
            Pattern.compile("([0-9A-Za-z_][0-9A-Za-z_.-]*|\\[[0-9a-fA-F:.]+])(:[0-9]{1,5})?");
    /** No segment that a server may take for '.' or '..'. Possessive, as a long path would fill the stack. */
    private static final Pattern PATH = Pattern.compile(
            "(/(?!(\\.|%2[eE]){1,2}(/|$))([0-9A-Za-z._~!$&'()*+,;=:@-]|%(?!2[fF]|5[cC]|00)[0-9a-fA-F]{2})++)++");
    /** In the value of a header. */
    private static final Pattern UNEXPECTED = Pattern.compile("^ | \\z|[^ -~]");

    /** All defaults; without endpoints. */
    public static final UpstreamConfig DEFAULT = DefaultValues.of(UpstreamConfig.class);

    @Override
    public void check(SectionCheck check) {
        check.unique("endpoints", endpoints, "endpoint");
        for (int i = 0; i < endpoints.size(); i++) {
            if (endpoints.get(i) instanceof ServerAddress.SrvAddress service
                    && NetUtil.createByteArrayFromIpAddressString(service.name()) != null) {
                check.problemAtItem(
                        "endpoints",
                        i,
                        endpoints.size(),
                        "endpoint: srv: needs a name of SRV records, got the address '" + service.name() + "'");
            }
        }
        check.expect(
                HOST.asMatchPredicate(), "host", "a host name or IP address, or one with a port, is expected", host);
        check.expect(
                PATH.asMatchPredicate(),
                "path_prefix",
                "a path as /serving/models is expected, without '.', '..', '?', '#' and a slash at its end",
                pathPrefix);
        check.expect(
                pathPrefix == null || protocol == UpstreamProtocol.REST,
                "path_prefix",
                "protocol rest is expected with it, since gRPC's paths are methods",
                pathPrefix);
        new TreeMap<>(headers).forEach((name, value) -> checkHeader(check, name, value.value()));
        if (tryTimeout != null && check.valid("timeout", "try_timeout")) {
            check.expect(
                    tryTimeout.compareTo(timeout) < 0,
                    "try_timeout",
                    "less than the timeout of " + Units.written(timeout) + " for all attempts is expected",
                    Units.written(tryTimeout));
        }
        if (check.valid("balance", "dialect")
                && balance.policy() == BalancePolicy.QUEUE_AWARE
                && dialect != ServerDialect.AUTO
                && dialect != ServerDialect.TRITON) {
            check.at(balance)
                    .problemAt(
                            "policy",
                            "balance: policy: queue_aware reads Triton's metrics; dialect triton or auto is expected");
        }
        if (check.valid("retry", "try_timeout")
                && retry.retries() > 0
                && retry.on().contains(RetryOn.TIMEOUT)
                && tryTimeout == null) {
            check.at(retry).problemAt("on", "retry: on: timeout needs a 'try_timeout'");
        }
    }

    private static void checkHeader(SectionCheck check, String name, String value) {
        Matcher unexpected = UNEXPECTED.matcher(value);
        if (!HeaderAllowList.isForGateway(name)) {
            check.problemAtName(
                    "headers",
                    name,
                    "headers: a name of a-z, 0-9, '-', '_' and '.' that neither HTTP, gRPC nor the gateway uses is expected,"
                            + " got '" + name + "'");
        } else if (unexpected.find()) {
            // The value may be a secret.
            check.problemAtNamed(
                    "headers",
                    name,
                    "header '" + name + "': visible characters of US-ASCII with spaces between them are expected, got "
                            + Character.getName(value.codePointAt(unexpected.start())) + " as character "
                            + (unexpected.start() + 1));
        }
    }

    /**
     * The same without what a reload changes at servers that stay: those that are endpoints by their IP addresses, and the
     * headers.
     */
    public UpstreamConfig lasting() {
        return DefaultValues.with(
                this,
                "endpoints",
                endpoints.stream().filter(each -> !each.literal()).toList(),
                "headers",
                Map.of());
    }

    public enum BalancePolicy {
        ROUND_ROBIN,
        LEAST_REQUEST,
        PEAK_EWMA,
        CONSISTENT_HASH,
        QUEUE_AWARE
    }

    @Doc("Load balancing among the servers.")
    public record Balance(
            @Doc("round_robin; least_request: of two, the one with fewer calls; peak_ewma: of two, the one with "
                    + "the lower latency times calls; consistent_hash: by the sticky key; "
                    + "queue_aware: of two, the "
                    + "one with fewer pending requests in Triton's metrics.")
            @Default("least_request")
            BalancePolicy policy,

            @Doc("Time in which a server that joins or recovers reaches its full share.") @OrZero @Default("0s")
            Duration slowStart,

            @Doc("Port of each server's Prometheus metrics, for queue_aware.")
            @Range(min = 1, max = 65_535)
            @Default("8002")
            int metricsPort) {}

    @Doc("Active health checks of each server and of each configured model on it.")
    public record Checks(
            @Doc("Time between two checks.") @Default("1s") Duration interval,

            @Doc("Timeout of one check.") @Default("5s") Duration timeout,

            @Doc("Consecutive failures after which a server gets no calls.") @Range(min = 1, max = 1000) @Default("2")
            int unhealthyAfter,

            @Doc("Consecutive successes after which it gets calls again.") @Range(min = 1, max = 1000) @Default("1")
            int healthyAfter) {}

    @Doc("Outlier detection: a server whose calls fail, in a row or more often than those of the others, is ejected "
            + "for a while.")
    public record Outliers(
            @Doc("Consecutive failed calls (unreachable, connection lost, timed out, 503) that eject a server. "
                    + "0: never.")
            @Range(max = 10_000)
            @Default("5")
            int consecutiveFailures,

            @Doc("Time of an ejection; it grows with each further one in a row, up to tenfold.") @Default("5s")
            Duration ejection,

            @Doc("Largest share of servers that are ejected at once; one always may be.") @Share @Default("50%")
            double maxEjected,

            @Doc("Share of healthy servers below which all servers get calls.") @Share @Default("50%")
            double panicThreshold,

            ErrorRate errorRate) {}

    @Doc("Ejection by the share of calls that fail or are answered with a 5xx status, compared with the other servers. "
            + "Errors that all servers share eject none.")
    public record ErrorRate(
            @Doc("Time over which calls are counted.") @Default("10s")
            Duration interval,

            @Doc("Share of failed calls from which a server is ejected, if it is at least twice that of the others "
                    + "together. 0%: never.")
            @Share
            @Default("50%")
            double threshold,

            @Doc("Standard deviations by which a server's share of failed calls may exceed the mean of all servers, "
                    + "as in Envoy's success rate ejection. A share below 5% is never ejected; with 1.9, one server "
                    + "can only stand out among five or more. 0: never.")
            @Range(max = 100)
            @Default("1.9")
            double deviations,

            @Doc("Calls in the interval below which a server is not judged.")
            @Range(min = 1, max = 1_000_000)
            @Default("50")
            int minimumCalls,

            @Doc("Servers with so many calls below which none is ejected.") @Range(min = 2, max = 10_000) @Default("2")
            int minimumServers) {}

    public enum RetryOn {
        /** The server did not process the request: no connection, stream refused, too many calls in flight. */
        UNSENT,
        /** The server responded with UNAVAILABLE or 503 only. */
        UNAVAILABLE,
        /** The connection was lost before a response: the request may run twice. */
        LOST,
        /** The attempt timed out: the request may run twice. */
        TIMEOUT
    }

    @Doc("Which failures are retried on another server. Sequences and streams never are.")
    public record Retry(
            @Doc("Maximum number of retries after the first attempt. 0: none.") @Range(max = 10) @Default("1")
            int retries,

            @Doc("unsent: the server has not begun the request; unavailable: it responded 503; lost: the "
                    + "connection was lost before a response, so the request may run twice; "
                    + "timeout: the attempt timed "
                    + "out, with the same risk.")
            @Default({"unsent", "unavailable"})
            Set<RetryOn> on,

            @Doc("Retry budget: retries as a share of calls.") @Share @Default("20%")
            double budget,

            @Doc("Largest request that is kept for a retry. Larger requests are streamed to gRPC servers, "
                    + "and are retried only if no server has received any part.")
            @Size
            @Default("4MiB")
            int maxBody)
            implements CheckedSection {
        public static final Retry DEFAULT = DefaultValues.of(Retry.class);

        @Override
        public void check(SectionCheck check) {
            if (check.valid() && retries > 0 && on.isEmpty()) {
                check.problem("on", "with retries, at least one of unsent, unavailable, lost, timeout is expected");
            }
        }
    }

    @Doc("Circuit breaker: while most calls fail, all are refused with 503, so that the servers can recover.")
    public record Breaker(
            @Doc("Share of failed calls (unreachable, lost, timed out, 503) that opens the breaker. 100%: " + "never.")
            @Share
            @Default("100%")
            double failureRate,

            @Doc("Number of last calls that are counted.") @Range(min = 1, max = 100_000) @Default("100")
            int window,

            @Doc("Minimum number of calls before it can open.") @Range(min = 1, max = 100_000) @Default("20")
            int minimumCalls,

            @Doc("Time that it stays open before it lets a few calls through.") @Default("5s")
            Duration open)
            implements CheckedSection {
        @Override
        public void check(SectionCheck check) {
            check.expect(
                    !check.valid() || minimumCalls <= window,
                    "minimum_calls",
                    "at most the window of " + window + " calls is expected",
                    minimumCalls);
        }
    }

    @Doc("Abuse limits of one connection to a gRPC server. A server that exceeds one is disconnected with "
            + "ENHANCE_YOUR_CALM, and its calls fail. Streams that it resets are not counted.")
    public record UpstreamHttp2Abuse(
            @Doc("Burst of frames without payload: PING, SETTINGS, WINDOW_UPDATE, empty DATA, frames of closed "
                    + "streams. 0: no limit.")
            @Range(max = 100_000_000)
            @Default("100000")
            int controlFrameBurst,

            @Doc("Refill of the burst per second.") @Range(max = 100_000_000) @Default("10000")
            int controlFrameRate,

            @Doc("Such frames that are free for each DATA frame of either side and for each call.")
            @Range(max = 1_000_000)
            @Default("100")
            int controlFramesPerData,

            @Doc("Maximum number of frames, DATA aside, that wait for a server that does not read. 0: no limit.")
            @Range(max = 100_000_000)
            @Default("100000")
            int maxQueuedFrames) {}
}
