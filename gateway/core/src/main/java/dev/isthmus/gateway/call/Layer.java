package dev.isthmus.gateway.call;

import dev.isthmus.gateway.settings.LayerSettings;
import dev.isthmus.gateway.settings.Permission;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.RequestOutline;
import io.netty.buffer.ByteBuf;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One concern of every call. {@link Layers} calls its methods in the order of the list, those about the response in
 * reverse order. There is one object for a configuration, used by many event loops; what it keeps of a call is in a
 * {@link Slot} of the {@link Exchange}. A method that is not overridden costs nothing.
 *
 * <p>A call is any request of a client. A request that is one message of a stream ({@code ModelStreamInfer}) has an
 * exchange and a context of its own, whose {@link Exchange#stream()} is that of the stream: it passes {@link #open} to
 * {@link #finished} and {@link #messageEnded}, but for {@link #message} and {@link #failure}, which see what the client
 * gets on the exchange of the stream.
 *
 * <p>Methods run on the event loop of the call and must not block. An {@link OipException} refuses the call; any other
 * exception ends it with INTERNAL, and is logged and counted with the layer's name.
 *
 * <p>A jar may bring layers ({@link LayerFactory}). A change that could break one raises {@link
 * LayerSettings#INTERFACE_VERSION}.
 */
public interface Layer {

    /** A name that is unique in the list: lower case, words separated by underscores. */
    String name();

    /**
     * Checks a request by its head, before its body is read; {@link #open} checks again when the operation is known.
     *
     * @throws OipException if the request is refused
     */
    default void head(CallContext call, Permission permission) {}

    /** A request has arrived; it may be refused before it becomes a call. Not called for messages of a stream. */
    default void began(Exchange exchange) {}

    /**
     * The operation is known.
     *
     * @return null to go on; otherwise the call goes on when this completes, on any thread, and fails if it fails, or if
     *     it has not completed when the call's deadline passes
     * @throws OipException if the call is refused
     */
    default @Nullable CompletableFuture<?> open(Exchange exchange) {
        return null;
    }

    /** All layers have let it pass, or one refuses it without a wait. Not called for messages of a stream. */
    default void opened(Exchange exchange) {}

    /**
     * A part of the body, or a message of the stream, has arrived, and the layers are open.
     *
     * @param part borrowed
     * @throws OipException if the call is refused
     */
    default void data(Exchange exchange, ByteBuf part) {}

    /**
     * The request is complete.
     *
     * @throws OipException if the call is refused
     */
    default void complete(Exchange exchange) {}

    /**
     * The length of the body is known: when it is complete, or earlier if it is forwarded in parts. Called once.
     *
     * @param length in bytes
     * @return as of {@link #open}
     * @throws OipException if the call is refused
     */
    default @Nullable CompletableFuture<?> sized(Exchange exchange, long length) {
        return null;
    }

    /** Whether {@link #transform} is called for this request; it is then gathered, decoded and encoded again. */
    default boolean transforms(Exchange exchange) {
        return true;
    }

    /**
     * Changes the request of an inference that is about to be sent, once for all servers that get it: the target, the
     * fallback and copies. Requests of the generate extension have no tensors and are not shown.
     *
     * @param request borrowed until the result is there; tensors of it that are in the result are {@link
     *     dev.isthmus.oip.Tensor#retained retained}
     * @return what is sent: {@code request} itself, or another one, which is taken; when, as of {@link #open}
     * @throws OipException if the call is refused
     */
    default CompletableFuture<InferRequest> transform(Exchange exchange, InferRequest request) {
        return CompletableFuture.completedFuture(request);
    }

    /**
     * The target of an inference was chosen, and what is sent to it is known but for the elements of its tensors. Called
     * once, after {@link #transform} and before anything is sent; not for a fallback and copies, nor for requests of the
     * generate extension, which have no tensors. The context says which model of which upstream it goes to.
     *
     * @param request borrowed
     * @throws OipException if the call is refused
     */
    default void parsed(Exchange exchange, RequestOutline request) {}

    /**
     * The request is sent to the target of the exchange. Called again for its last part, if it is sent in parts, and for
     * a fallback.
     */
    default void sending(Exchange exchange) {}

    /** The response starts to be forwarded: from here on its duration depends on the client. */
    default void responding(Exchange exchange) {}

    /**
     * The target that the request was sent to has ended: with the call, or because the fallback takes over.
     *
     * @param failure null if it has not failed
     */
    default void targetEnded(Exchange exchange, @Nullable OipException failure) {}

    /**
     * A message for the client.
     *
     * @param message taken
     * @return what the client gets, owned by the caller; null for nothing
     */
    default @Nullable ReplyMessage message(Exchange exchange, ReplyMessage message) {
        return message;
    }

    /** The call fails: returns what the client gets. */
    default OipException failure(Exchange exchange, OipException failure) {
        return failure;
    }

    /** The outcome is known, and the client does not have it yet. Called exactly once. */
    default void finished(Exchange exchange) {}

    /** The response was written. Called exactly once, after {@link #finished}; not for messages of a stream. */
    default void ended(Exchange exchange) {}

    /**
     * A message of a stream, with a context of its own, has ended. Called at most once, after {@link #finished}: not for
     * one that was not answered when its stream ended well.
     */
    default void messageEnded(Exchange exchange) {}

    /** No call passes it any more. Called once, for a layer that a {@link LayerFactory} has created. */
    default void close() {}
}
