package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.transcoder.message.Dialect;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import java.util.List;

/**
 * What is known of the servers of one upstream, which are of one kind: as configured, or as their metadata say. Shared by
 * all of them and by all event loops.
 */
public final class ServerCapabilities {
    private static final String BINARY = "binary_tensor_data";

    private final ServerDialect dialect;
    private final BinaryTensorData binary;
    private final boolean sharedMemory;
    private volatile LearnedCapabilities learnt = new LearnedCapabilities(false, Dialect.GENERIC, false, List.of());

    private record LearnedCapabilities(boolean any, Dialect dialect, boolean binary, List<String> extensions) {}

    /** Nothing but what is configured. */
    public ServerCapabilities(ServerDialect dialect, BinaryTensorData binary, boolean sharedMemory) {
        this.dialect = dialect;
        this.binary = binary;
        this.sharedMemory = sharedMemory;
    }

    /** Nothing is configured. */
    public static ServerCapabilities unknown() {
        return new ServerCapabilities(ServerDialect.AUTO, BinaryTensorData.AUTO, false);
    }

    /** Whether a server's metadata were read. */
    public boolean complete() {
        return learnt.any;
    }

    /** The dialect; {@link Dialect#GENERIC} as long as nothing is known. */
    public Dialect dialect() {
        return switch (dialect) {
            case AUTO -> learnt.dialect;
            case TRITON -> Dialect.TRITON;
            case MLSERVER -> Dialect.MLSERVER;
            case KSERVE -> Dialect.KSERVE;
            case GENERIC -> Dialect.GENERIC;
        };
    }

    /** What the servers understand. */
    public ServerFeatures peer(Wire wire) {
        return new ServerFeatures(wire, dialect(), wire == Wire.REST && binaryTensorData(), sharedMemory);
    }

    private boolean binaryTensorData() {
        return switch (binary) {
            case AUTO -> learnt.binary;
            case TRUE -> true;
            case FALSE -> false;
        };
    }

    /** What the servers' metadata name, and what their dialect has without naming it. */
    public List<String> extensions() {
        List<String> named = learnt.extensions;
        return named.isEmpty() ? dialect().unnamedExtensions() : named;
    }

    /** Learns from a server's metadata. */
    public void learn(ServerMetadata metadata) {
        Dialect told = Dialect.ofServer(metadata.name());
        boolean knowsBinary = metadata.extensions().contains(BINARY) || told.unannouncedBinary(metadata.version());
        learnt = new LearnedCapabilities(true, told, knowsBinary, metadata.extensions());
    }
}
