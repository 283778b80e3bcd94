package dev.isthmus.gateway.call;

import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.Wire;
import io.netty.util.AsciiString;
import java.util.Map;

/**
 * Receives the responses to a call: any number of messages, then exactly one of {@link #complete()} and {@link #fail}.
 * A unary operation has one message. Called on the call's event loop only. After the end of the reply, or the
 * cancellation of the call, further calls are ignored and their buffers released.
 */
public interface Reply {

    /** Releases every message. */
    Reply DISCARDING = new Reply() {
        @Override
        public void message(ReplyMessage message) {
            message.release();
        }

        @Override
        public void complete() {}

        @Override
        public void fail(OipException failure) {}
    };

    /**
     * Receives headers of the upstream's response for the client; more may follow until the reply ends. Lower-case
     * names; values of names that end in {@code -bin} are base64. The map does not change afterwards.
     */
    default void headers(Map<String, String> headers) {}

    /** Receives the id of the call before anything else: the client gets it with the first headers, however it ends. */
    default void identified(AsciiString id) {
        headers(Map.of(HeaderAllowList.REQUEST_ID, id.toString()));
    }

    /** Receives one message (its buffers are taken). */
    void message(ReplyMessage message);

    void complete();

    void fail(OipException failure);

    /**
     * Whether the client reads fast enough to send more now; if not, {@link RequestSink#onReady()} reports when it
     * does.
     */
    default boolean isReady() {
        return true;
    }

    /**
     * Whether an inference response on this wire may arrive as {@code ReplyMessage.Part}s; each further part is sent
     * only while {@link #isReady()}. Called before the first part.
     *
     * @param length of the response, or of its tensors, in bytes; {@link ReplyMessage.Part#UNKNOWN} if it is not known
     */
    default boolean acceptsParts(Wire wire, long length) {
        return false;
    }

    /** The sink, which was not {@linkplain RequestSink#isReady() ready}, accepts more of the request again. */
    default void onReady() {}

    /**
     * The target has failed before it responded, and another one gets the request.
     *
     * @param model as it is named there
     */
    default void redirected(OipException failure, ModelRef model) {}

    /** The call gets a response that another one has got: its end says nothing about its target. */
    default void notSent() {}

    /** Receives the only message, and completes. */
    default void only(ReplyMessage message) {
        message(message);
        complete();
    }
}
