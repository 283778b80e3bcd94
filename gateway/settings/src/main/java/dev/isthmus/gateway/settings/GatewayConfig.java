package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.ValueShape.Section;
import dev.isthmus.transcoder.message.Dialect;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The configuration of the gateway, read at start and at each reload.
 *
 * @param references where its values came from, as far as they are not in its files; no key
 */
@Doc("Configuration of Isthmus.")
public record GatewayConfig(
        @Doc("Addresses that serve REST and gRPC.") @NotEmpty
        List<Listener> listeners,

        @Doc("Address for operators: metrics, state, reloads. Off by default.") @Nullable
        AdminConfig admin,

        @Nullable AuthenticationConfig authentication,
        @Nullable AccessConfig access,
        @Nullable ExternalAuthorizationConfig externalAuthorization,

        Limits limits,
        Connections connections,
        Drain drain,
        Headers headers,
        ResponseConfig answers,
        HealthConfig health,

        @Doc("Inference requests that do not match the metadata of their model. strict: refused with 400; report: "
                + "counted, logged and sent; off: not looked for.")
        @Default("report")
        RequestValidation validate,

        RampsConfig ramps,

        @Doc("Rate limits, ramps and drained servers shared with other gateways. Off by default.") @Nullable
        SharedConfig shared,

        LoggingConfig logging,
        @Doc("Access log. Off by default.") @Nullable AccessLogConfig accessLog,

        MetricsConfig metrics,
        KubernetesConfig kubernetes,

        @Doc("Distributed traces. Off by default.") @Nullable
        TracingConfig tracing,

        @Doc("Payload log. Off by default.") @Nullable PayloadLogConfig payloadLog,

        LayersConfig layers,

        @Doc("The servers behind the gateway, by name.")
        @DefaultsKey(
                value = "upstream_defaults",
                doc = "Defaults for all upstreams: the keys of an upstream, none of them required.")
        Map<String, UpstreamConfig> upstreams,

        DiscoverConfig discover,

        @Doc("ONNX models run by the gateway itself, as the upstream 'local'.") @Nullable
        LocalConfig local,

        @Doc("The models, by name or pattern.") Map<String, ModelConfig> models,

        @Doc("Upstream for models that are not listed. Without it they are unknown (404).") @Nullable
        String defaultUpstream,

        ValueReferences references) {

    /** The reserved name of the local backend among the upstreams. */
    public static final String LOCAL = "local";

    /** All defaults; has no model to serve. */
    public static final GatewayConfig DEFAULT = DefaultValues.of(GatewayConfig.class);

    public GatewayConfig {
        listeners = listeners.isEmpty() ? List.of(Listener.DEFAULT) : List.copyOf(listeners);
        upstreams = Map.copyOf(upstreams);
        models = Map.copyOf(models);
        references = Objects.requireNonNullElse(references, ValueReferences.NONE);
    }

    /** The configuration used without a file: the embedded models, on loopback. */
    public static GatewayConfig embedded() {
        return DefaultValues.with(DEFAULT, "local", LocalConfig.EMBEDDED, "defaultUpstream", LOCAL);
    }

    /** The whole configuration by key, including defaults, with references in place of the values that came from them. */
    public Map<String, Object> document() {
        Map<String, Object> document = values();
        references.replaceIn(document, (value, reference) -> reference);
        return document;
    }

    /** The whole configuration by key, with all values. */
    public Map<String, Object> values() {
        Map<String, Object> document = new LinkedHashMap<>();
        new Section(GatewayConfig.class).put(this, document);
        return document;
    }

    /** A copy with another first listener. */
    public GatewayConfig withListener(Listener other) {
        List<Listener> all = new ArrayList<>(listeners);
        all.set(0, other);
        return DefaultValues.with(this, "listeners", all);
    }

    /** A copy with another admin address. */
    public GatewayConfig withAdmin(@Nullable AdminConfig other) {
        return DefaultValues.with(this, "admin", other);
    }

    /** A copy with the admin address, the settings of ramps, and of what gateways share, of another one. */
    public GatewayConfig withFixed(GatewayConfig other) {
        return DefaultValues.with(
                this,
                "admin",
                other.admin,
                "ramps",
                other.ramps,
                "shared",
                other.shared,
                "references",
                references.withThose(other.references, Set.of("admin", "ramps", "shared")));
    }

    /** A copy with other upstreams and models, and the references that all values came from then. */
    public GatewayConfig withModels(
            Map<String, UpstreamConfig> otherUpstreams,
            Map<String, ModelConfig> otherModels,
            ValueReferences otherReferences) {
        return DefaultValues.with(
                this, "upstreams", otherUpstreams, "models", otherModels, "references", otherReferences);
    }

    /** A copy that keeps the state of ramps next to the configuration file, unless a state file is configured. */
    public GatewayConfig withStateBeside(Path file) {
        return ramps.stateFile() == null ? DefaultValues.with(this, "ramps", RampsConfig.beside(file)) : this;
    }

    @Doc("Limits on requests.")
    public record Limits(
            @Doc("Largest request body, gRPC message and upstream response.") @Size @Default("64MiB")
            int maxBodySize,

            @Doc("Largest request that is not inference, generate or load: health, metadata, index, statistics, "
                    + "settings, shared memory.")
            @Size
            @Default("64KiB")
            int maxManagementSize,

            @Doc("Largest response of a server to such a request and to load, at most 1/128 of the heap. Of readiness "
                    + "and metadata: 1MiB.")
            @Size
            @Default("8MiB")
            int maxManagementResponseSize,

            @Doc("Largest ratio of decompressed to compressed bytes. The first MiB of a body or message is exempt.")
            @Range(min = 1, max = 10_000)
            @Default("100")
            int maxDecompressionRatio,

            @Doc("Maximum concurrent streams of one HTTP/2 connection.") @Range(min = 1, max = 100_000) @Default("100")
            int maxConcurrentStreams,

            @Doc("Maximum concurrent calls; more are refused with 503.")
            @Range(min = 1, max = 1_000_000)
            @Default("10000")
            int maxRequests,

            @Doc("Share of direct memory (-XX:MaxDirectMemorySize) for requests and responses of all calls. A "
                    + "call that needs more is refused with 503, a request that never fits with 413.")
            @Share
            @Default("50%")
            double maxBuffered,

            @Doc("Maximum number of inputs, of requested outputs, and of outputs of one " + "message.")
            @Range(min = 1, max = 65_536)
            @Default("4096")
            int maxTensors,

            @Doc("Maximum number of gateways that a call passes, this one included; more are a loop, refused with 508.")
            @Range(min = 1, max = 100)
            @Default("5")
            int maxHops,

            Http2Abuse http2Abuse)
            implements CheckedSection {
        @Override
        public void check(SectionCheck check) {
            check.expect(maxBuffered > 0, "max_buffered", "more than 0% is expected", Units.share(maxBuffered));
        }
    }

    @Doc("Headers that are forwarded, over either protocol.")
    public record Headers(
            @Doc(value = "Request headers that are forwarded to servers. A name may end in *.", key = "forward")
            @Default({"authorization", "baggage", "traceparent", "tracestate", "x-request-id"})
            HeaderAllowList forwarded,

            @Doc(
                    value = "Response headers and gRPC trailers that are returned to clients. Cache-Control and Vary "
                            + "always are.",
                    key = "return")
            @Default({"retry-after", "server-timing", "traceparent", "tracestate", "x-request-id", "ce-*"})
            HeaderAllowList returned) {
        public static final Headers DEFAULT = DefaultValues.of(Headers.class);
    }

    @Doc("When the gateway and its models are reported ready to V2 clients.")
    public record HealthConfig(
            @Doc("Server readiness for V2 clients. any, all: of the upstreams have a ready server; models: "
                    + "every configured model is ready. Probes of the gateway itself ask /readyz.")
            @Default("any")
            ServerReadyPolicy serverReady,

            @Doc("How many of a model's replicas must be ready: any, all or most.") @Default("any")
            ModelConfig.ReadyPolicy modelReady,

            @Doc("Maximum time of the warm-up after the start. Calls are served meanwhile, but the gateway is "
                    + "not ready. 0s: no warm-up.")
            @OrZero
            @Default("30s")
            Duration warmUp,

            @Doc("How long the warm-up continues after the gateway is ready, while no client calls, at half of a core: "
                    + "until it no longer gets faster, at most for this time and for 30 s of processor time. 0s: not "
                    + "at all. Has no effect without warm_up.")
            @OrZero
            @Default("2m")
            Duration idleWarmUp,

            @Doc("Maximum checks of models per second, to all servers together. Beyond this rate, models are "
                    + "checked less often than its upstream's checks.interval. First checks do not count.")
            @Range(min = 1, max = 1_000_000)
            @Default("500")
            int maxModelChecks) {}

    /** When the gateway as a server is ready. */
    public enum ServerReadyPolicy {
        /** When every server is ready; never without a server. */
        ALL,
        /** When at least one server is ready. */
        ANY,
        /** When every configured model is ready by its own policy; without any, when at least one server is ready. */
        MODELS
    }

    /** The body of health responses; clients only check the status. */
    public enum HealthBody {
        JSON,
        EMPTY
    }

    /** How much of upstream errors clients see. */
    public enum ErrorTexts {
        /** All. */
        PASSED,
        /** Servers' texts about a client's mistake, redacted. */
        CLIENT_ERRORS,
        /** None. */
        GENERIC
    }

    /** The message type of streamed responses. */
    public enum StreamMessageForm {
        /** Triton's ModelStreamInferResponse, which can carry errors without ending the stream. */
        TRITON,
        /** A plain ModelInferResponse, as MLServer's clients expect; an error ends the stream. */
        OIP
    }

    /** The dialect of a server; auto: determined by what it says of itself. */
    public enum ServerDialect {
        AUTO,
        TRITON,
        MLSERVER,
        KSERVE,
        OVMS,
        GENERIC;

        /** The dialect; null if it is determined by what the server says of itself. */
        public @Nullable Dialect dialect() {
            return this == AUTO ? null : Dialect.valueOf(name());
        }
    }

    public enum UpstreamProtocol {
        GRPC,
        REST
    }

    /** Whether a REST upstream supports the binary tensor data extension; auto: determined by its metadata. */
    public enum BinaryTensorData {
        AUTO,
        TRUE,
        FALSE
    }
}
