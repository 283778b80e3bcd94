package dev.isthmus.gateway.settings;

import dev.isthmus.transcoder.message.NonFinite;
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
        Connections connections,
        Headers headers,
        ResponseConfig answers,
        HealthConfig health,
        RampsConfig ramps,

        @Doc("The servers behind the gateway, by name.")
        @DefaultsKey(
                value = "upstream_defaults",
                doc = "Settings of every upstream that does not have its own: the keys of an upstream, none required.")
        Map<String, UpstreamConfig> upstreams,

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
            Connections.DEFAULT,
            Headers.DEFAULT,
            ResponseConfig.DEFAULT,
            HealthConfig.DEFAULT,
            RampsConfig.DEFAULT,
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
                Connections.DEFAULT,
                Headers.DEFAULT,
                ResponseConfig.DEFAULT,
                HealthConfig.DEFAULT,
                RampsConfig.DEFAULT,
                Map.of(),
                LocalConfig.EMBEDDED,
                Map.of(),
                LOCAL);
    }

    /** The same on another address. */
    public GatewayConfig withListener(Listener other) {
        return new GatewayConfig(
                List.of(other),
                admin,
                limits,
                connections,
                headers,
                answers,
                health,
                ramps,
                upstreams,
                local,
                models,
                defaultUpstream);
    }

    /** The same with another address for operators. */
    public GatewayConfig withAdmin(@Nullable Admin other) {
        return new GatewayConfig(
                listeners,
                other,
                limits,
                connections,
                headers,
                answers,
                health,
                ramps,
                upstreams,
                local,
                models,
                defaultUpstream);
    }

    /** The same with ramps kept elsewhere. */
    public GatewayConfig withRamps(RampsConfig other) {
        return new GatewayConfig(
                listeners,
                admin,
                limits,
                connections,
                headers,
                answers,
                health,
                other,
                upstreams,
                local,
                models,
                defaultUpstream);
    }

    /** The same, served from a file: what is to be kept and has no place yet is kept beside it. */
    public GatewayConfig withStateBeside(Path file) {
        if (ramps.stateFile() != null) {
            return this;
        }
        String name = String.valueOf(file.getFileName());
        int dot = name.lastIndexOf('.');
        String stem = dot < 1 ? name : name.substring(0, dot);
        return withRamps(new RampsConfig(file.resolveSibling(stem + ".ramps.json")));
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
                    + " here. Others may not be able to read or write it, nor its group to write it.")
            @Nullable
            Path tokenFile,

            @Doc(
                    "Further hosts that requests may be sent to, *.SUFFIX for all below one, or * for any; 'host', localhost"
                            + " and loopback addresses always may, all addresses where 'host' is not loopback.")
            @HostPattern
            List<String> allowedHosts) {
        public static final Admin DEFAULT = new Admin("127.0.0.1", 9901, null, List.of());

        public Admin {
            allowedHosts = List.copyOf(allowedHosts);
        }
    }

    /** What clients may ask for. */
    @Doc("What clients may ask for.")
    public record Limits(
            @Doc("Of a request's body or one gRPC message, and of an upstream's answer.") @Size
            int maxBodySize,

            @Doc("Of a request's body or gRPC message that is no inference, generate or load: health, metadata,"
                    + " index, statistics, settings, shared memory.")
            @Size
            int maxManagementSize,

            @Doc("Bytes that one byte of a compressed request may become; the first MiB of a body or message is free.")
            @Range(min = 1, max = 10_000)
            int maxDecompressionRatio,

            @Doc("Open streams of one HTTP/2 connection.") @Range(min = 1, max = 100_000)
            int maxConcurrentStreams,

            @Doc("Calls under way at once; more are refused with 503.") @Range(min = 1, max = 1_000_000)
            int maxRequests,

            @Doc("What all calls may hold of requests and answers, as a share of the memory outside the heap"
                    + " (-XX:MaxDirectMemorySize); a call for which no more fits is refused with 503.")
            @Share
            double maxBuffered,

            @Doc("Inputs, requested outputs, or outputs of one request or answer.") @Range(min = 1, max = 65_536)
            int maxTensors,

            @Doc("Gateways that a call may come through, this one among them; more are a loop, refused with 508.")
            @Range(min = 1, max = 100)
            int maxHops,

            Http2Abuse http2Abuse) {
        public static final Limits DEFAULT =
                new Limits(64 << 20, 64 << 10, 100, 100, 10_000, 0.5, 4096, 5, Http2Abuse.DEFAULT);
    }

    /** What a client may cost on one HTTP/2 connection. */
    @Doc("A client whose HTTP/2 connection costs more than this is closed with ENHANCE_YOUR_CALM. Bursts come back at"
            + " their rates.")
    public record Http2Abuse(
            @Doc("Streams at once that the client resets before an answer; each answered stream gives one back; 0: any"
                    + " number.")
            @Range(max = 1_000_000)
            int streamResetBurst,

            @Doc("So many come back each second.") @Range(max = 1_000_000)
            int streamResetRate,

            @Doc("Streams at once that are reset because the client broke the protocol on them; 0: any number.")
            @Range(max = 1_000_000)
            int streamErrorBurst,

            @Doc("So many come back each second.") @Range(max = 1_000_000)
            int streamErrorRate,

            @Doc("Frames at once that carry nothing: PING, SETTINGS, PRIORITY, WINDOW_UPDATE, empty DATA, frames of"
                    + " closed streams; 0: any number.")
            @Range(max = 100_000_000)
            int controlFrameBurst,

            @Doc("So many come back each second.") @Range(max = 100_000_000)
            int controlFrameRate,

            @Doc("Such frames that are free for each DATA frame of either side, and for each stream.")
            @Range(max = 1_000_000)
            int controlFramesPerData,

            @Doc("Frames for the client that may wait while it reads nothing, DATA aside; 0: any number.")
            @Range(max = 100_000_000)
            int maxQueuedFrames) {
        public static final Http2Abuse DEFAULT = new Http2Abuse(5000, 100, 1000, 33, 10_000, 1000, 10, 10_000);
    }

    /** The headers that are passed on between client and upstream, whichever protocol each of them speaks. */
    @Doc("The headers that are passed on, whichever protocol either side speaks.")
    public record Headers(
            @Doc(value = "Of requests. A name may end in *.", key = "forward")
            HeaderAllowList forwarded,

            @Doc(value = "Of answers, gRPC's trailers among them.", key = "return")
            HeaderAllowList returned) {
        public static final Headers DEFAULT = new Headers(
                HeaderAllowList.of(List.of("traceparent", "tracestate", "baggage", "x-request-id", "authorization")),
                HeaderAllowList.of(
                        List.of("traceparent", "tracestate", "x-request-id", "retry-after", "server-timing", "ce-*")));
    }

    /** How answers are written for clients that do not say. */
    @Doc("How answers are written for clients that do not say.")
    public record ResponseConfig(
            @Doc("NaN and the infinities in JSON.") NonFinite nonFinite,

            @Doc("The message that gRPC clients get from ModelStreamInfer.")
            StreamMessageForm streamForm,

            @Doc("REST answers to inferences of more bytes are compressed.") @Size
            int compressAbove,

            @Doc("Whether REST answers to inferences are compressed at all, for clients that accept it.")
            boolean compress,

            @Doc("The body of health answers.") HealthBody healthBody,

            @Doc("HTTP status of 'not ready': 400, as the protocol and Triton have it, or 503, as load balancers do.")
            @OneOf({400, 503})
            int notReadyStatus,

            @Doc("Whether clients see what servers say of failures, and names of upstreams (passed), or fixed texts in"
                    + " place of them, the full ones going to the log (generic). What the gateway says of a request"
                    + " itself is always seen.")
            ErrorTexts errors) {
        public static final ResponseConfig DEFAULT = new ResponseConfig(
                NonFinite.TOKEN, StreamMessageForm.TRITON, 1024, true, HealthBody.JSON, 400, ErrorTexts.GENERIC);
    }

    /** When V2 clients are told that the gateway and its models are ready. */
    @Doc("When V2 clients are told that the gateway and its models are ready.")
    public record HealthConfig(
            @Doc(
                    "What V2 clients are told: any or all of the upstreams have a server that is ready, or every configured"
                            + " model is. Probes of the gateway itself ask /readyz.")
            ServerReadyPolicy serverReady,

            @Doc("any, all or most of a model's replicas are.")
            ModelConfig.ReadyPolicy modelReady,

            @Doc("How long at most a started gateway sends itself requests until they become no faster; it serves"
                    + " meanwhile, but is not ready. 0s: not at all.")
            @OrZero
            Duration warmUp) {
        public static final HealthConfig DEFAULT =
                new HealthConfig(ServerReadyPolicy.ANY, ModelConfig.ReadyPolicy.ANY, Duration.ofSeconds(30));
    }

    /** What all ramps have in common. */
    @Doc("What all ramps have in common.")
    public record RampsConfig(
            @Doc("The file that keeps where ramps stand, so that a restart neither begins them again nor undoes a"
                    + " rollback. Default is NAME.ramps.json beside the configuration NAME.yaml.")
            @Nullable
            Path stateFile) {
        public static final RampsConfig DEFAULT = new RampsConfig(null);
    }

    /** What makes the server ready. */
    public enum ServerReadyPolicy {
        /** Every server must be; without a server the gateway is not ready. */
        ALL,
        /** One server is enough. */
        ANY,
        /** Every configured model must be, as its own policy has it; where none is configured, one server is enough. */
        MODELS
    }

    /** The body of health answers, of which clients look at the status. */
    public enum HealthBody {
        JSON,
        EMPTY
    }

    /** What clients see of failures behind the gateway. */
    public enum ErrorTexts {
        PASSED,
        GENERIC
    }

    /** The message of a stream's answers. */
    public enum StreamMessageForm {
        /** Triton's ModelStreamInferResponse, which has room for errors in the midst of the stream. */
        TRITON,
        /** The bare ModelInferResponse, as MLServer's clients expect it; an error ends the stream. */
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
    public enum UpstreamProtocol {
        GRPC,
        REST
    }

    /** Whether a REST upstream knows the binary tensor data extension; auto: as its metadata says. */
    public enum BinaryTensorData {
        AUTO,
        TRUE,
        FALSE
    }
}
