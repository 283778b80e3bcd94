package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
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
    /** What no server has: how one says so tells which server it is. */
    public static final ModelRef UNKNOWN_MODEL = ModelRef.of("isthmus-dialect-check");

    private static final String BINARY = "binary_tensor_data";

    private final @Nullable Dialect configured;
    private final BinaryTensorData binary;
    private final boolean sharedMemory;
    private volatile LearnedCapabilities learned = LearnedCapabilities.of(null, "");

    /**
     * What the servers have said.
     *
     * @param metadata null before they have
     * @param refusal how one has refused a request for {@link #UNKNOWN_MODEL}; empty before
     * @param reason what the dialect follows from
     */
    private record LearnedCapabilities(
            @Nullable ServerMetadata metadata, String refusal, Dialect dialect, String reason, boolean binary) {

        static LearnedCapabilities of(@Nullable ServerMetadata metadata, String refusal) {
            if (metadata == null) {
                return new LearnedCapabilities(null, refusal, Dialect.GENERIC, "no metadata yet", false);
            }
            Dialect dialect = Dialect.ofServer(metadata.name());
            String reason = "its name '" + metadata.name() + "'";
            if (dialect == Dialect.GENERIC) {
                dialect = Dialect.ofExtensions(metadata.extensions());
                reason = "its extensions";
            }
            if (dialect == Dialect.GENERIC) {
                dialect = Dialect.ofUnknownModel(UNKNOWN_MODEL.name(), refusal);
                reason = dialect == Dialect.GENERIC ? "nothing that it says" : "its answer about an unknown model";
            }
            boolean binary = metadata.extensions().contains(BINARY) || dialect.unannouncedBinary(metadata.version());
            return new LearnedCapabilities(metadata, refusal, dialect, reason, binary);
        }
    }

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

    /** What the dialect follows from, for operators. */
    public String dialectReason() {
        return configured != null ? "dialect in the configuration" : learned.reason;
    }

    /** Whether the dialect is neither configured nor known from the servers' metadata. */
    public boolean isUnrecognized() {
        LearnedCapabilities known = learned;
        return configured == null
                && known.metadata != null
                // All three have one.
                && !known.metadata.name().isEmpty()
                && Dialect.ofServer(known.metadata.name()) == Dialect.GENERIC
                && Dialect.ofExtensions(known.metadata.extensions()) == Dialect.GENERIC;
    }

    /** Whether the servers are taken for generic ones because nothing that they say tells what they are. */
    public boolean isAssumed() {
        return isUnrecognized() && !learned.refusal.isEmpty() && learned.dialect == Dialect.GENERIC;
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
        ServerMetadata metadata = learned.metadata;
        List<String> named = metadata == null ? List.of() : metadata.extensions();
        return named.isEmpty() ? dialect().unnamedExtensions() : named;
    }

    /** Learns from a server's metadata. */
    public synchronized void learn(ServerMetadata metadata) {
        learned = LearnedCapabilities.of(metadata, learned.refusal);
    }

    /** Learns from how a server refuses a request for the metadata of {@link #UNKNOWN_MODEL}. */
    public synchronized void learn(OipException refusal) {
        learned = LearnedCapabilities.of(learned.metadata, refusal.message());
    }
}
