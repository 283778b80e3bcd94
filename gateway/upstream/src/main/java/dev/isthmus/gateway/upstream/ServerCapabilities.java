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
    /** Null before the servers have sent them. */
    private volatile @Nullable ServerMetadata metadata;
    /** How a server has refused a request for {@link #UNKNOWN_MODEL}; empty before. */
    private volatile String refusal = "";

    private volatile Recognition recognition = new Recognition(Dialect.GENERIC, "no metadata yet");
    private volatile boolean binaryByMetadata;

    /** The dialect that the servers show, generic if they show none, and the observation that decides. */
    private record Recognition(Dialect dialect, String reason) {

        static Recognition of(ServerMetadata metadata, String refusal) {
            Dialect dialect = Dialect.ofServer(metadata.name());
            if (dialect != Dialect.GENERIC) {
                return new Recognition(dialect, "its name '" + metadata.name() + "'");
            }
            for (String extension : metadata.extensions()) {
                dialect = Dialect.ofExtension(extension);
                if (dialect != Dialect.GENERIC) {
                    return new Recognition(dialect, "its extension '" + extension + "'");
                }
            }
            dialect = Dialect.ofUnknownModel(UNKNOWN_MODEL.name(), refusal);
            String reason = dialect == Dialect.GENERIC ? "nothing that it says" : "its answer about an unknown model";
            return new Recognition(dialect, reason);
        }
    }

    /**
     * The dialect for operators.
     *
     * @param dialect as the configuration names it
     * @param reason what it follows from
     * @param contradicted whether the configuration sets it, and the servers show another one
     */
    public record DialectReport(String dialect, String reason, boolean contradicted) {

        /** How the upstream's servers are called, and why, without a full stop. */
        public String sentence() {
            return "its servers are called as " + dialect + ": " + reason;
        }
    }

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
        return configured != null ? configured : recognition.dialect();
    }

    /** The dialect, and what decides it. */
    public DialectReport report() {
        Recognition shown = recognition;
        if (configured == null) {
            return new DialectReport(shown.dialect().key(), shown.reason(), false);
        }
        boolean contradicted = shown.dialect() != configured && shown.dialect() != Dialect.GENERIC;
        String reason = "dialect in the configuration"
                + (contradicted
                        ? ", but " + shown.reason() + " says " + shown.dialect().key()
                        : "");
        return new DialectReport(configured.key(), reason, contradicted);
    }

    /** Whether neither names nor extensions tell the dialect, so that only an answer about an unknown model may. */
    public boolean isUnrecognized() {
        ServerMetadata known = metadata;
        return configured != Dialect.GENERIC
                && known != null
                // All of them have one.
                && !known.name().isEmpty()
                && Recognition.of(known, "").dialect() == Dialect.GENERIC;
    }

    /** Whether the servers are taken for generic ones because nothing that they say tells what they are. */
    public boolean isAssumed() {
        return dialect() == Dialect.GENERIC && isUnrecognized() && !refusal.isEmpty();
    }

    public ServerFeatures peer(Wire wire) {
        return new ServerFeatures(wire, dialect(), wire == Wire.REST && binaryTensorData(), sharedMemory);
    }

    private boolean binaryTensorData() {
        return switch (binary) {
            case AUTO -> binaryByMetadata;
            case TRUE -> true;
            case FALSE -> false;
        };
    }

    /**
     * The extensions listed in the servers' metadata, or else those that their dialect supports without listing them.
     */
    public List<String> extensions() {
        ServerMetadata known = metadata;
        List<String> named = known == null ? List.of() : known.extensions();
        return named.isEmpty() ? dialect().unnamedExtensions() : named;
    }

    public synchronized void learn(ServerMetadata said) {
        metadata = said;
        Recognition shown = Recognition.of(said, refusal);
        Dialect used = configured != null ? configured : shown.dialect();
        // First, so that no request is sent as JSON to a server whose JSON loses values.
        binaryByMetadata = said.extensions().contains(BINARY) || used.unannouncedBinary(said.version());
        recognition = shown;
    }

    /** Learns from how a server refuses a request for the metadata of {@link #UNKNOWN_MODEL}. */
    public synchronized void learn(OipException refused) {
        refusal = refused.message();
        ServerMetadata known = metadata;
        if (known != null) {
            learn(known);
        }
    }
}
