package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** One or more servers of one kind behind the gateway, which serve the same models. */
@Doc("One or more servers of one kind that serve the same models.")
public record UpstreamConfig(
        @Doc("The protocol that the servers are spoken to in.") @Required
        UpstreamProtocol protocol,

        @Doc("host:port of each server; every address of a host's name is a server. srv:NAME asks SRV records.")
        @Required
        @NotEmpty
        List<ServerAddress> endpoints,

        @Doc("How long the addresses of a name are used at most before it is asked again.")
        Duration dnsRefresh,

        @Doc("Whether the servers know the binary tensor data extension over REST.")
        BinaryTensorData binaryTensorData,

        @Doc("How the servers speak the protocol; auto: as the name in their metadata says.")
        ServerDialect dialect,

        @Doc("Whether clients may refer to memory that they share with the server.")
        boolean sharedMemory,

        @Doc("Of making a connection.") Duration connectTimeout,

        @Doc("Of one call with all its tries, where the client gives no deadline; streams have none.")
        Duration timeout,

        @Doc("Of one try; none by default.") @Nullable Duration tryTimeout,

        @Doc("Calls under way at once; more are refused with 503.") @Range(min = 1, max = 1_000_000)
        int maxRequests,

        @Doc(
                "Whether every model of the servers' repository index is routed here, unless a name, an alias or a pattern of 'models' takes it.")
        boolean discover,

        Balance balance,
        Checks checks,
        Outliers outliers,
        Retry retry,
        Breaker breaker,
        UpstreamHttp2Abuse http2Abuse) {

    /** All that has a default; without endpoints. */
    public static final UpstreamConfig DEFAULT = new UpstreamConfig(
            UpstreamProtocol.GRPC,
            List.of(),
            Duration.ofSeconds(30),
            BinaryTensorData.AUTO,
            ServerDialect.AUTO,
            false,
            Duration.ofSeconds(1),
            Duration.ofSeconds(60),
            null,
            1000,
            false,
            Balance.DEFAULT,
            Checks.DEFAULT,
            Outliers.DEFAULT,
            Retry.DEFAULT,
            Breaker.DEFAULT,
            UpstreamHttp2Abuse.DEFAULT);

    public UpstreamConfig {
        endpoints = List.copyOf(endpoints);
    }

    /** How a server is chosen. */
    public enum BalancePolicy {
        ROUND_ROBIN,
        LEAST_REQUEST,
        PEAK_EWMA,
        CONSISTENT_HASH,
        QUEUE_AWARE
    }

    /** The choice of a server. */
    @Doc("How one of the servers is chosen for each call.")
    public record Balance(
            @Doc("round_robin; least_request: the better of two by calls under way; peak_ewma: the better of two by"
                    + " latency and calls under way; consistent_hash: by the sticky key; queue_aware: the better of"
                    + " two by Triton's pending requests.")
            BalancePolicy policy,

            @Doc("How long a server that joins or comes back takes until it gets its full share.") @OrZero
            Duration slowStart,

            @Doc("Port of each server's Prometheus metrics, for queue_aware.") @Range(min = 1, max = 65_535)
            int metricsPort) {
        public static final Balance DEFAULT = new Balance(BalancePolicy.LEAST_REQUEST, Duration.ZERO, 8002);
    }

    /** Active health checks. */
    @Doc("Each server is asked from time to time whether it is ready, and so is each configured model on it.")
    public record Checks(
            @Doc("Between two questions.") Duration interval,

            @Doc("Of one question.") Duration timeout,

            @Doc("Failures in a row after which a server gets no more calls.") @Range(min = 1, max = 1000)
            int unhealthyAfter,

            @Doc("Successes in a row after which it gets calls again.") @Range(min = 1, max = 1000)
            int healthyAfter) {
        public static final Checks DEFAULT = new Checks(Duration.ofSeconds(1), Duration.ofSeconds(5), 2, 1);
    }

    /** Passive health: ejection of servers whose calls fail. */
    @Doc("A server whose calls fail in a row gets none for a while.")
    public record Outliers(
            @Doc("Failed calls in a row (unreachable, connection lost, timed out, 503) that eject a server; 0: never.")
            @Range(max = 10_000)
            int consecutiveFailures,

            @Doc("How long a server is ejected; each further time in a row it is as much longer, up to ten times.")
            Duration ejection,

            @Doc("The share of servers that may be ejected at once; one may always.") @Share
            double maxEjected,

            @Doc("Where less than this share of servers is healthy, all get calls.") @Share
            double panicThreshold) {
        public static final Outliers DEFAULT = new Outliers(5, Duration.ofSeconds(5), 0.5, 0.5);
    }

    /** What is tried again. */
    public enum RetryOn {
        /** The server has not begun the request: no connection, stream refused, too many calls under way. */
        UNSENT,
        /** The server said UNAVAILABLE or 503 before anything else. */
        UNAVAILABLE,
        /** The connection was lost before an answer: the request may run twice. */
        LOST,
        /** The try timed out: the request may run twice. */
        TIMEOUT
    }

    /** Repeated tries. */
    @Doc("What is tried again on another server. Sequences and streams never are.")
    public record Retry(
            @Doc("Further tries after the first; 0: none.") @Range(max = 10)
            int retries,

            @Doc("unsent: the server has not begun it; unavailable: it said 503 before anything else; lost: the"
                    + " connection was lost before an answer, so that it may run twice; timeout: the try timed out,"
                    + " the same.")
            Set<RetryOn> on,

            @Doc("Retries may be at most this share of the calls.") @Share
            double budget,

            @Doc(
                    "Requests of more bytes are not kept for a further try; large tensors pass to gRPC servers as they come,"
                            + " and are tried again only where no server took any of them.")
            @Size
            int maxBody) {
        public static final Retry DEFAULT = new Retry(1, Set.of(RetryOn.UNSENT, RetryOn.UNAVAILABLE), 0.2, 4 << 20);

        public Retry {
            on = Set.copyOf(on);
        }
    }

    /** The circuit breaker. */
    @Doc("Where most calls fail, all are refused with 503 for a while, so that the servers can recover.")
    public record Breaker(
            @Doc("The share of failed calls at which it opens (unreachable, lost, timed out, 503); 100%: never.") @Share
            double failureRate,

            @Doc("The number of last calls that are looked at.") @Range(min = 1, max = 100_000)
            int window,

            @Doc("As long as there were fewer calls it stays closed.") @Range(min = 1, max = 100_000)
            int minimumCalls,

            @Doc("How long it stays open before it lets a few calls try.")
            Duration open) {
        public static final Breaker DEFAULT = new Breaker(1, 100, 20, Duration.ofSeconds(5));
    }

    /** What a server may cost on one HTTP/2 connection. */
    @Doc(
            "A server spoken to in gRPC whose connection costs more than this is closed with ENHANCE_YOUR_CALM, and with it"
                    + " the calls on it. Streams that it resets are not counted.")
    public record UpstreamHttp2Abuse(
            @Doc("Frames at once that carry nothing: PING, SETTINGS, WINDOW_UPDATE, empty DATA, frames of closed"
                    + " streams; 0: any number.")
            @Range(max = 100_000_000)
            int controlFrameBurst,

            @Doc("So many come back each second.") @Range(max = 100_000_000)
            int controlFrameRate,

            @Doc("Such frames that are free for each DATA frame of either side, and for each call.")
            @Range(max = 1_000_000)
            int controlFramesPerData,

            @Doc("Frames for the server that may wait while it reads nothing, DATA aside; 0: any number.")
            @Range(max = 100_000_000)
            int maxQueuedFrames) {
        public static final UpstreamHttp2Abuse DEFAULT = new UpstreamHttp2Abuse(100_000, 10_000, 100, 100_000);
    }
}
