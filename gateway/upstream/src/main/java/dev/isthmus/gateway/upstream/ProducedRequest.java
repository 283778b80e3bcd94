package dev.isthmus.gateway.upstream;

import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.InferMessage;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A request that is encoded when its message is needed. */
abstract class ProducedRequest {
    private final @Nullable Upstream server;
    /** Null once the message was taken. */
    private @Nullable InferSource source;

    private @Nullable InferMessage message;

    /** @param message taken */
    ProducedRequest(InferMessage message) {
        this.server = null;
        this.message = message;
    }

    /** @param source taken */
    ProducedRequest(Upstream server, InferSource source) {
        this.server = server;
        this.source = source;
    }

    /** The model to request from the server. */
    public abstract ModelRef model();

    /** What it is produced from; only before its message is taken. */
    public final InferSource source() {
        return Objects.requireNonNull(source);
    }

    /** The server that it is meant for; as {@link #source()}. */
    public final Upstream server() {
        return Objects.requireNonNull(server);
    }

    /** The same source for another request; null if it was taken. */
    final @Nullable InferSource shared() {
        if (source != null) {
            source.retain();
        }
        return source;
    }

    /**
     * The decoded request; borrowed, as {@link #source()}.
     *
     * @throws dev.isthmus.oip.OipException if it cannot be expressed for the server; it is released then
     */
    public final InferRequest decoded() {
        try {
            return source().decoded(server(), model());
        } catch (RuntimeException | OutOfMemoryError e) {
            release();
            throw e;
        }
    }

    /**
     * Encodes it, if it was not.
     *
     * @throws dev.isthmus.oip.OipException as {@link #decoded()}
     */
    public final InferMessage encode() {
        InferMessage encoded = message;
        if (encoded == null) {
            try {
                encoded = source().encoded(server(), model());
            } catch (RuntimeException | OutOfMemoryError e) {
                release();
                throw e;
            }
            message = encoded;
        }
        return encoded;
    }

    /** The message on the peer's wire, owned by the caller if it sends it; see {@link #encode()}. */
    public final InferMessage message() {
        InferMessage encoded = encode();
        releaseSource();
        return encoded;
    }

    private void releaseSource() {
        if (source != null) {
            source.release();
            source = null;
        }
    }

    public final void release() {
        releaseSource();
        if (message != null) {
            message.release();
        }
    }
}
