package dev.isthmus.gateway.call;

import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.Wire;
import java.util.Map;

/**
 * Takes the answers to a call: any number of messages, then exactly one of {@link #complete()} and {@link #fail}. A unary
 * operation is a stream of one. Called on the call's event loop only. After the end of the reply, and after the call's
 * cancellation, further calls are ignored and their buffers released.
 */
public interface Reply {

    /**
     * Takes headers of the upstream's answer that the client is to see; more may come until the reply ends. Lower-case names;
     * those that end in {@code -bin} have base64 values.
     */
    default void headers(Map<String, String> headers) {}

    /** Takes one answer (its buffers are taken). */
    void message(ReplyMessage answer);

    void complete();

    void fail(OipException failure);

    /** Whether the client takes answers now; where not, {@link RequestSink#onReady()} tells when it does again. */
    default boolean isReady() {
        return true;
    }

    /**
     * Whether an inference answer on this wire may come as {@code ReplyMessage.Part}s; the next is given only while
     * {@link #isReady()}. Asked before the first one.
     *
     * @param length of the answer, or of its tensors, in bytes; {@link ReplyMessage.Part#UNKNOWN} where it is not known
     */
    default boolean takesParts(Wire wire, long length) {
        return false;
    }

    /** The sink, which was not {@linkplain RequestSink#writable() writable}, takes more of the request again. */
    default void onReady() {}

    /** The only answer. */
    default void only(ReplyMessage answer) {
        message(answer);
        complete();
    }
}
