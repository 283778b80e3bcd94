package dev.isthmus.gateway.ingress;

import io.netty.buffer.ByteBuf;

/** Writes a response to the connection, in full or in parts, with the headers of {@link ListenerContext#cors}. */
interface ResponseWriter {

    /** Writes the whole response; called at most once. */
    void respond(RestResponse response);

    /** Writes the head of a response whose body follows in parts; it may have a content-length. */
    void begin(RestResponse head);

    /** Whether the client can tell an aborted body from a complete one. */
    default boolean abortable() {
        return true;
    }

    /** Aborts a response whose body cannot be completed, so that the client detects it. */
    void abort();

    /** Writes the next part of the body (taken). */
    void part(ByteBuf part);

    /** Ends the body. */
    void endBody();

    /** Bytes of the body that were written and not sent yet. */
    long queued();

    /** Whether writes are sent immediately. */
    boolean isWritable();

    /** Resumes reading of the request, which was {@linkplain HttpExchange#paused() paused}. */
    void resumeRequest();
}
