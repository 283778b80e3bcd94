package dev.isthmus.gateway.payloadlog;

import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/** What the log sees of one call. Buffers are borrowed. Confined to the call's event loop. */
interface LoggedMessages {

    /** A part of the request, or a message of the stream. */
    void requested(ByteBuf part);

    default void requestComplete() {}

    /** A message for the client. */
    void responded(ReplyMessage message);

    /**
     * The call has ended.
     *
     * @param failure null if it is complete
     */
    void ended(@Nullable OipException failure);
}
