package dev.isthmus.gateway.call;

import java.util.Arrays;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

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
