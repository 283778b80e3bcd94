package dev.isthmus.gateway.config;

import dev.isthmus.gateway.call.HeaderNames;
import dev.isthmus.transcoder.NonFinite;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What the gateway is told at start and at each reload. */
@Doc("Configuration of Isthmus.")
public record GatewayConfig(
        @Doc("Addresses that take REST and gRPC.") @NotEmpty List<Listener> listeners,

        @Doc("Where metrics are read and reloads are asked for; without it nowhere.") @Nullable
        Admin admin,

        Limits limits,
        Headers headers,
        Answers answers,
        Health health,

        @Doc("The servers behind the gateway, by name.") Map<String, UpstreamConfig> upstreams,

        @Doc("ONNX models run by the gateway itself, as the upstream 'local'.") @Nullable
        LocalConfig local,

        @Doc("The models, by name or pattern.") Map<String, ModelConfig> models,

        @Doc("The upstream that takes models which are not listed; without it they are unknown.") @Nullable
        String defaultUpstream) {

    /** The reserved name of the local backend among the upstreams. */
    public static final String LOCAL = "local";

    /** All that has a default; with nothing to serve. */
    public static final GatewayConfig DEFAULT = new GatewayConfig(
            List.of(Listener.DEFAULT),
            null,
            Limits.DEFAULT,
            Headers.DEFAULT,
            Answers.DEFAULT,
            Health.DEFAULT,
            Map.of(),
            null,
            Map.of(),
            null);

    public GatewayConfig {
        listeners = List.copyOf(listeners);
        upstreams = Map.copyOf(upstreams);
        models = Map.copyOf(models);
    }

    /** Without a file: the embedded models, on loopback. */
    public static GatewayConfig embedded() {
        return new GatewayConfig(
                List.of(Listener.DEFAULT),
                null,
                Limits.DEFAULT,
                Headers.DEFAULT,
                Answers.DEFAULT,
                Health.DEFAULT,
                Map.of(),
                LocalConfig.EMBEDDED,
                Map.of(),
                LOCAL);
    }

    /** The same on another address. */
    public GatewayConfig withListener(Listener other) {
        return new GatewayConfig(
                List.of(other), admin, limits, headers, answers, health, upstreams, local, models, defaultUpstream);
    }

    /** The same with another address for operators. */
    public GatewayConfig withAdmin(@Nullable Admin other) {
        return new GatewayConfig(
                listeners, other, limits, headers, answers, health, upstreams, local, models, defaultUpstream);
    }

    /** An address that takes REST and gRPC. */
    public record Listener(
            @Doc("A name or an address.") @HostName String host,

            @Doc("0 for any that is free.") @Range(max = 65_535)
            int port) {
        public static final Listener DEFAULT = new Listener("127.0.0.1", 8080);
    }

    /** The address of the operators' side. */
    @Doc("Where operators read metrics and ask for reloads.")
    public record Admin(
            @Doc("A name or an address; one that is not loopback needs a token.") @HostName
            String host,

            @Doc("0 for any that is free.") @Range(max = 65_535)
            int port,

            @Doc("A file with the token that changes need as 'Authorization: Bearer'; without it nothing can be changed"
                    + " here.")
            @Nullable
            Path tokenFile) {
        public static final Admin DEFAULT = new Admin("127.0.0.1", 9901, null);
    }

    /** What clients may ask for. */
    @Doc("What clients may ask for.")
    public record Limits(
            @Doc("Of a request's body or one gRPC message, and of an upstream's answer.") @Size
            int maxBodySize,

            @Doc("Open streams of one HTTP/2 connection.") @Range(min = 1, max = 100_000)
            int maxConcurrentStreams,

            @Doc("Calls under way at once; more are refused with 503.") @Range(min = 1, max = 1_000_000)
            int maxRequests,

            @Doc(
                    "What all requests may hold while they are read and answered, as a share of the memory outside the heap"
                            + " (-XX:MaxDirectMemorySize); a request for which no more fits is refused with 503.")
            @Share
            double maxBuffered,

            @Doc("Gateways that a call may come through, this one among them; more are a loop, refused with 508.")
            @Range(min = 1, max = 100)
            int maxHops) {
        public static final Limits DEFAULT = new Limits(64 << 20, 100, 10_000, 0.5, 5);
    }

    /** The headers that are passed on between client and upstream, whichever protocol each of them speaks. */
    @Doc("The headers that are passed on, whichever protocol either side speaks.")
    public record Headers(
            @Doc(value = "Of requests. A name may end in *.", key = "forward")
            HeaderNames forwarded,

            @Doc(value = "Of answers, gRPC's trailers among them.", key = "return")
            HeaderNames returned) {
        public static final Headers DEFAULT = new Headers(
                HeaderNames.of(List.of("traceparent", "tracestate", "baggage", "x-request-id", "authorization")),
                HeaderNames.of(
                        List.of("traceparent", "tracestate", "x-request-id", "retry-after", "server-timing", "ce-*")));
    }

    /** How answers are written for clients that do not say. */
    @Doc("How answers are written for clients that do not say.")
    public record Answers(
            @Doc("NaN and the infinities in JSON.") NonFinite nonFinite,

            @Doc("The message that gRPC clients get from ModelStreamInfer.")
            StreamForm streamForm,

            @Doc("REST responses of more bytes are compressed.") @Size
            int compressAbove,

            @Doc("Whether REST responses are compressed at all, for clients that accept it.")
            boolean compress,

            @Doc("The body of health answers.") HealthBody healthBody,

            @Doc("HTTP status of 'not ready': 400, as the protocol and Triton have it, or 503, as load balancers do.")
            @OneOf({400, 503})
            int notReadyStatus) {
        public static final Answers DEFAULT =
                new Answers(NonFinite.TOKEN, StreamForm.TRITON, 1024, true, HealthBody.JSON, 400);
    }

    /** When the gateway calls itself and its models ready. */
    @Doc("When the gateway calls itself and its models ready.")
    public record Health(
            @Doc("all or any of the upstreams are, or every configured model is.")
            ServerReadyPolicy serverReady,

            @Doc("any, all or most of a model's replicas are.")
            ModelConfig.ReadyPolicy modelReady,

            @Doc("How long at most a started gateway sends itself requests until they become no faster; it serves"
                    + " meanwhile, but is not ready. 0s: not at all.")
            @OrZero
            Duration warmUp) {
        public static final Health DEFAULT =
                new Health(ServerReadyPolicy.ALL, ModelConfig.ReadyPolicy.ANY, Duration.ofSeconds(30));
    }

    /** What makes the server ready. */
    public enum ServerReadyPolicy {
        ALL,
        ANY,
        MODELS
    }

    /** The body of health answers, of which clients look at the status. */
    public enum HealthBody {
        JSON,
        EMPTY
    }

    /** The message of a stream's answers. */
    public enum StreamForm {
        TRITON,
        OIP
    }

    /** How a server speaks the protocol; auto: as its name in its metadata says. */
    public enum ServerDialect {
        AUTO,
        TRITON,
        MLSERVER,
        KSERVE,
        GENERIC
    }

    /** The protocol that an upstream is spoken to in. */
    public enum Protocol {
        GRPC,
        REST
    }

    /** Whether a REST upstream knows the binary tensor data extension; auto: as its metadata says. */
    public enum BinaryTensorData {
        AUTO,
        TRUE,
        FALSE
    }

    /** The local backend. */
    @Doc("ONNX models run by the gateway itself, as the upstream 'local'.")
    public record LocalConfig(
            @Doc("A directory of models, relative to the configuration; docs/local-backend.md has its layout.")
            @Nullable
            Path modelRepository,

            @Doc("Whether the models 'digits' and 'simple', which come with the gateway, are served.")
            boolean embeddedModels,

            @Doc("Threads that run models; 0: one for each core.") @Range(max = 1024)
            int threads,

            @Doc("Requests that wait for a thread; more are refused with 503.") @Range(min = 1, max = 1_000_000)
            int queueSize,

            @Doc("none: everything is loaded at start; explicit: what 'load' names, all else by load and unload.")
            ModelControl modelControl,

            @Doc("The models that are loaded at start with explicit control; '*' for all.")
            List<String> load,

            @Doc("Where models run that name no device: cpu, gpu:N or auto.")
            String device) {
        public static final int DEFAULT_QUEUE_SIZE = 256;
        public static final LocalConfig DEFAULT = of(null, false);
        public static final LocalConfig EMBEDDED = of(null, true);

        public LocalConfig {
            load = List.copyOf(load);
        }

        /** Everything is loaded at start, all else is as it is by default. */
        public static LocalConfig of(@Nullable Path modelRepository, boolean embeddedModels) {
            return new LocalConfig(
                    modelRepository, embeddedModels, 0, DEFAULT_QUEUE_SIZE, ModelControl.NONE, List.of(), "cpu");
        }
    }

    /** Who decides which models are loaded. */
    public enum ModelControl {
        NONE,
        EXPLICIT
    }
}
