package dev.isthmus.gateway.dispatch;

import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.RequestOutline;
import dev.isthmus.transcoder.ResponseForm;
import dev.isthmus.transcoder.message.ServerFeatures;
import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/**
 * A request whose parts may be forwarded to a server before it is complete. Its head is complete and valid; the body
 * keeps receiving parts, validates them, and holds them until they are taken from here or the body is released.
 */
interface StreamedRequest {

    /**
     * The message that is sent to a server in parts.
     *
     * @param length of the whole message on the server's wire, in bytes
     * @param form the form in which the client wants the server's response
     */
    record StreamedMessage(long length, ResponseForm form) {}

    /** Length of the client's whole body in bytes, as counted by limits. */
    long length();

    /** Its outline. */
    RequestOutline outline();

    /**
     * Starts sending to a server. Called at most once: from then on parts can be taken, in that server's form.
     *
     * @param model the model to request from the server
     * @return null if the server needs a form that cannot be produced in parts: the body then gathers the request
     * @throws dev.isthmus.oip.OipException if the request cannot be expressed for the server
     */
    @Nullable
    StreamedMessage start(ServerFeatures peer, ModelRef model);

    /** Whether a part can be taken; never before {@link #start}. */
    boolean hasPart();

    /** Takes all bytes that can be forwarded now, owned by the caller; empty if there are none. */
    ByteBuf take();
}
