package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.coding.ContentCoding;
import dev.isthmus.gateway.net.Turn;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.util.AsciiString;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What carries a gRPC call between client and gateway: a stream of HTTP/2, or gRPC-Web in an HTTP body. */
interface GrpcTransport {

    /**
     * Checks the head of the request.
     *
     * @throws OipException if the transport cannot carry the request
     */
    default void check(RequestHead head) {}

    /**
     * Decodes a part of the request's body.
     *
     * @param chunk taken
     * @return bytes of messages with their prefixes, owned by the caller
     * @throws OipException INVALID_ARGUMENT if it is malformed
     */
    default ByteBuf decode(ByteBuf chunk) {
        return chunk;
    }

    /** Whether the end of the body would cut it short. */
    default boolean partial() {
        return false;
    }

    /**
     * Sends the head of a response with messages.
     *
     * @param coding of the messages; null for identity
     * @param id of the call; null if it has none
     * @param returned the upstream's headers received by then; they replace others of the same name
     */
    void head(@Nullable ContentCoding coding, @Nullable AsciiString id, Map<String, String> returned);

    /** Bytes of memory that sending this many bytes takes. */
    default long memoryToSend(int bytes) {
        return bytes;
    }

    /** Sends messages with their prefixes (taken): one, or the next part of one. */
    void send(ByteBuf message);

    /** Ends a successful response. */
    void complete(boolean headSent, Map<String, String> returned);

    /** Ends a response with a failure. */
    void fail(OipException failure, boolean headSent, Map<String, String> returned);

    /** Bytes of the response that were written and not sent yet. */
    long queued();

    /** Whether writes are sent immediately. */
    boolean isWritable();

    /** Resumes reading of the request, which was {@linkplain GrpcExchange#paused() paused}. */
    void resumeRequest();

    /** The turn that reading of the request belongs to. */
    Turn turn();

    /** Runs the task in the next turn; the present {@link #turn} must be over. */
    void inNextTurn(Runnable task);
}
