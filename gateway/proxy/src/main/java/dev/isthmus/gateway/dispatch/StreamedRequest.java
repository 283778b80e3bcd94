package dev.isthmus.gateway.dispatch;

import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.ResponseForm;
import dev.isthmus.transcoder.message.ServerFeatures;
import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/**
 * A request whose parts may go on to a server before all of it has come. Its head has come and was checked; the body goes on
 * taking parts, checks them, and holds them until they are taken from here or the body is released.
 */
interface StreamedRequest {

    /**
     * What a server is sent in parts.
     *
     * @param length of the whole message on the server's wire, in bytes
     * @param form how the client wants the answer of this server
     */
    record StreamedMessage(long length, ResponseForm form) {}

    /** Bytes of the client's whole body: what limits count. */
    long length();

    /**
     * Begins for a server, once: from then on what comes is there to be taken, in that server's form.
     *
     * @param model what the server is asked for
     * @return null where this server must be sent another form than can be made in parts: the body gathers the request then,
     *     as if it had never passed
     * @throws dev.isthmus.oip.OipException when the server cannot be sent it
     */
    @Nullable
    StreamedMessage start(ServerFeatures peer, ModelRef model);

    /** Whether anything is there to be taken; never before {@link #start}. */
    boolean hasPart();

    /** All that can go on now: the next bytes of the message, owned by the caller; not readable where nothing waits. */
    ByteBuf take();
}
