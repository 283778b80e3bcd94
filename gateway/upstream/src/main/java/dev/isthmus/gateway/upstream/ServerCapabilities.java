package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.transcoder.message.Dialect;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The capabilities of the servers of one upstream, all of one kind: as configured, or learned from their metadata.
 * Shared by all of them; thread-safe.
 */
public final class ServerCapabilities {
    private static final String BINARY = "binary_tensor_data";

    private final @Nullable Dialect configured;
    private final BinaryTensorData binary;
    private final boolean sharedMemory;
    private volatile LearnedCapabilities learned = new LearnedCapabilities(Dialect.GENERIC, false, List.of());

    private record LearnedCapabilities(Dialect dialect, boolean binary, List<String> extensions) {}

    /** Starts with what is configured. */
    public ServerCapabilities(ServerDialect dialect, BinaryTensorData binary, boolean sharedMemory) {
        this.configured = dialect.dialect();
        this.binary = binary;
        this.sharedMemory = sharedMemory;
    }

    /** Nothing is configured. */
    public static ServerCapabilities unknown() {
        return new ServerCapabilities(ServerDialect.AUTO, BinaryTensorData.AUTO, false);
    }

    /** The dialect; {@link Dialect#GENERIC} while it is unknown. */
    public Dialect dialect() {
        return configured != null ? configured : learned.dialect;
    }

    /** The features that the servers support. */
    public ServerFeatures peer(Wire wire) {
        return new ServerFeatures(wire, dialect(), wire == Wire.REST && binaryTensorData(), sharedMemory);
    }

    private boolean binaryTensorData() {
        return switch (binary) {
            case AUTO -> learned.binary;
            case TRUE -> true;
            case FALSE -> false;
        };
    }

    /**
     * The extensions listed in the servers' metadata, or else those that their dialect supports without listing them.
     */
    public List<String> extensions() {
        List<String> named = learned.extensions;
        return named.isEmpty() ? dialect().unnamedExtensions() : named;
    }

    /** Learns from a server's metadata. */
    public void learn(ServerMetadata metadata) {
        Dialect reported = Dialect.ofServer(metadata.name());
        boolean knowsBinary = metadata.extensions().contains(BINARY) || reported.unannouncedBinary(metadata.version());
        learned = new LearnedCapabilities(reported, knowsBinary, metadata.extensions());
    }
}
