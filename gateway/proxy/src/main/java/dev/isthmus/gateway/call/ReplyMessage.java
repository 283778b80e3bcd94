package dev.isthmus.gateway.call;

import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/** One message of a reply. */
public sealed interface ReplyMessage {

    record Live(boolean live) implements ReplyMessage {}

    /**
     * Whether the server is ready.
     *
     * @param reason why not, as far as it is known; empty where it is ready
     */
    record Ready(boolean ready, String reason) implements ReplyMessage {

        /** For no known reason. */
        public Ready(boolean ready) {
            this(ready, "");
        }
    }

    record ModelReadyState(ModelRef model, boolean ready) implements ReplyMessage {}

    record Server(dev.isthmus.oip.ServerMetadata metadata) implements ReplyMessage {}

    record Model(dev.isthmus.oip.ModelMetadata metadata) implements ReplyMessage {}

    /**
     * An inference answer; who gets it owns it.
     *
     * @param id the request's, which the answer is to be given because the server was not told it; null where it has its own
     */
    record Inference(InferMessage message, @Nullable String id) implements ReplyMessage {

        /** An answer with its own id. */
        public Inference(InferMessage message) {
            this(message, null);
        }
    }

    /**
     * The next bytes of an inference answer that is passed on as it comes, to a reply that {@linkplain Reply#takesParts() takes
     * that}; who gets them owns them. The parts are the encoded ModelInferResponse, or the REST body, when the reply completes;
     * where it fails instead, they are nothing.
     *
     * @param length of the whole message or body, the same in all its parts; {@link #UNKNOWN} for a body that does not say
     * @param jsonLength of a REST body, as in {@link RestBody#jsonLength()}
     */
    record Part(ByteBuf bytes, long length, long jsonLength) implements ReplyMessage {
        /** No length. */
        public static final long UNKNOWN = -1;

        /** Of a message. */
        public Part(ByteBuf bytes, long length) {
            this(bytes, length, RestBody.ALL_JSON);
        }
    }

    /**
     * The failure of one request of a stream, which goes on.
     *
     * @param id of the request; empty where it is not known
     */
    record StreamError(OipException failure, String id) implements ReplyMessage {}

    /** A JSON document or a protobuf message that is passed on as it is; who gets it owns it. */
    record Document(ByteBuf content) implements ReplyMessage {}

    /** Bytes of a stream of server-sent events that is passed on as it is; who gets them owns them. */
    record Events(ByteBuf content) implements ReplyMessage {}

    /** Gives back the buffers of an answer that nobody will read. */
    default void release() {
        switch (this) {
            case Inference inference -> inference.message().release();
            case Part part -> part.bytes().release();
            case Document document -> document.content().release();
            case Events events -> events.content().release();
            case Live live -> {}
            case Ready ready -> {}
            case ModelReadyState ready -> {}
            case Server server -> {}
            case Model model -> {}
            case StreamError error -> {}
        }
    }
}
