package dev.isthmus.gateway.call;

import static java.util.Objects.requireNonNull;

import dev.isthmus.gateway.settings.Permission;
import dev.isthmus.oip.ModelRef;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What holds for all operations of a kind, and the operation label of metrics. What differs between the operations of a
 * kind, {@link Operation} says.
 */
public enum OperationKind {
    SERVER_LIVE(Permission.HEALTH, Work.PROBE, "ServerLive", ServerPath.LIVE.path()),
    SERVER_READY(Permission.HEALTH, Work.PROBE, "ServerReady", ServerPath.READY.path()),
    GATEWAY_READY(Permission.HEALTH, Work.PROBE, "ServerReady", ServerPath.READYZ.path()),
    HEALTH(Permission.HEALTH, Work.LOOKUP, "ModelReady", ModelAction.READY.path()),
    REFLECTION(Permission.METADATA, Work.CALL, "ServerMetadata", ServerPath.METADATA.path()),
    SERVER_METADATA(Permission.METADATA, Work.LOOKUP, "ServerMetadata", ServerPath.METADATA.path()),
    MODEL_READY(Permission.HEALTH, Work.LOOKUP, "ModelReady", ModelAction.READY.path()),
    MODEL_METADATA(Permission.METADATA, Work.LOOKUP, "ModelMetadata", ModelAction.MODEL),
    OPENAPI(Permission.METADATA, Work.LOOKUP, "ModelMetadata", ServerPath.OPENAPI.path()),
    INFER(Permission.INFER, Work.INFERENCE, "ModelInfer", ModelAction.INFER.path()),
    INFER_STREAM(Permission.STREAM, Work.INFERENCE, "ModelStreamInfer", ModelAction.INFER_STREAM.path()),
    VALIDATE(Permission.INFER, Work.INFERENCE, "ModelInfer", ModelAction.VALIDATE.path()),
    GENERATE(Permission.GENERATE, Work.INFERENCE, "ModelInfer", ModelAction.GENERATE.path()),
    GENERATE_STREAM(Permission.GENERATE, Work.INFERENCE, "ModelInfer", ModelAction.GENERATE_STREAM.path()),
    /** Its permission, method and path are its extension's. */
    MANAGE(null, Work.CALL, "", ""),
    /** Of a request that was rejected before its operation was known. */
    UNKNOWN(null, Work.LOOKUP, "", "");

    /** What a call does in the gateway. */
    enum Work {
        /** It reads the state of the gateway or its servers. */
        PROBE,
        /** It reads what the gateway knows. */
        LOOKUP,
        /** It is a call among those that the gateway limits. */
        CALL,
        /** The same, with a body of any size. */
        INFERENCE
    }

    private final @Nullable Permission permission;
    private final Work work;
    private final String grpcMethod;
    private final String path;
    private final String versionPath;
    private final String label = name().toLowerCase(Locale.ROOT);

    OperationKind(@Nullable Permission permission, Work work, String grpcMethod, String path) {
        this.permission = permission;
        this.work = work;
        this.grpcMethod = grpcMethod;
        this.path = path;
        this.versionPath = path.replace("{model}", "{model}/versions/{version}");
    }

    /** The kind of an operation; {@link #UNKNOWN} for null. */
    public static OperationKind of(@Nullable Operation operation) {
        return operation == null ? UNKNOWN : operation.kind();
    }

    /** What a caller needs to be allowed; not for {@link #MANAGE}. */
    public Permission permission() {
        return requireNonNull(permission);
    }

    Work work() {
        return work;
    }

    /** The method that a gRPC server is asked for; none for {@link #MANAGE}. */
    public String grpcMethod() {
        return grpcMethod;
    }

    /** The path of a REST request, with {@code {model}} in place of the model's name and so on. */
    String path(ModelRef model) {
        return model.version().isEmpty() ? path : versionPath;
    }

    /** The label in metrics and logs. */
    public String label() {
        return label;
    }

    /**
     * A REST path without parameters, requested with GET. Those of the management extensions are in
     * {@link dev.isthmus.gateway.extension.Extension}.
     */
    public enum ServerPath {
        /** Probes by Kubernetes and load balancers of the gateway itself, as {@link #READYZ}. */
        LIVEZ("/livez", new Operation.ServerLive()),
        READYZ("/readyz", new Operation.GatewayReady()),
        LIVE("/v2/health/live", new Operation.ServerLive()),
        READY("/v2/health/ready", new Operation.ServerReady()),
        METADATA("/v2", new Operation.ReadServerMetadata()),
        OPENAPI("/openapi.json", new Operation.DescribeApi(null));

        private static final Map<String, ServerPath> BY_PATH =
                Arrays.stream(values()).collect(Collectors.toUnmodifiableMap(ServerPath::path, Function.identity()));

        private final String path;

        @SuppressWarnings("ImmutableEnumChecker") // a record of immutable values
        private final Operation operation;

        ServerPath(String path, Operation operation) {
            this.path = path;
            this.operation = operation;
        }

        /** The resource with this path; null for any other path. */
        public static @Nullable ServerPath of(String path) {
            return BY_PATH.get(path);
        }

        public String path() {
            return path;
        }

        public Operation operation() {
            return operation;
        }
    }

    /**
     * What the last segment of a model's REST path asks for: {@code /v2/models/{model}/infer}. Those of the management
     * extensions are in {@link dev.isthmus.gateway.extension.Extension}.
     */
    public enum ModelAction {
        READY("ready", false),
        INFER("infer", true),
        INFER_STREAM("infer_stream", true),
        GENERATE("generate", true),
        GENERATE_STREAM("generate_stream", true),
        VALIDATE("validate", true),
        OPENAPI("openapi.json", false);

        /** The path of a model, whose metadata it is. */
        public static final String MODEL = "/v2/models/{model}";

        private static final Map<String, ModelAction> BY_SEGMENT = Arrays.stream(values())
                .collect(Collectors.toUnmodifiableMap(ModelAction::segment, Function.identity()));

        private final String segment;
        private final String suffix;
        private final boolean post;

        ModelAction(String segment, boolean post) {
            this.segment = segment;
            this.suffix = "/" + segment;
            this.post = post;
        }

        /** The action of a path's last segment; null for any other segment. */
        public static @Nullable ModelAction of(String segment) {
            return BY_SEGMENT.get(segment);
        }

        /** The last segment of the path. */
        public String segment() {
            return segment;
        }

        /** What follows the path of the model. */
        public String suffix() {
            return suffix;
        }

        /** The path, with {@code {model}} in place of the name. */
        public String path() {
            return MODEL + suffix;
        }

        /** Whether it is requested with POST; otherwise with GET. */
        public boolean post() {
            return post;
        }
    }
}
