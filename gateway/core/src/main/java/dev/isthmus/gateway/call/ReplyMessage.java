package dev.isthmus.gateway.call;

import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBuf;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One message of a reply. */
public sealed interface ReplyMessage {

    record Live(boolean live) implements ReplyMessage {}

    /**
     * Whether the server is ready.
     *
     * @param reason why not, if known; empty if it is ready
     */
    record Ready(boolean ready, String reason) implements ReplyMessage {

        /** A state without a reason. */
        public Ready(boolean ready) {
            this(ready, "");
        }
    }

    record ModelReadyState(ModelRef model, boolean ready) implements ReplyMessage {}

    record Server(dev.isthmus.oip.ServerMetadata metadata) implements ReplyMessage {}

    record Model(dev.isthmus.oip.ModelMetadata metadata) implements ReplyMessage {}

    /**
     * An inference response, owned by the receiver.
     *
     * @param id the request's id, to be set on the response because it was not sent to the server; null if the response
     *     has its own
     * @param last whether it is the only response to a request of a stream and is to be marked as its last, as Triton
     *     does
     * @param sharedOutputs the parameters of the outputs that a request of a stream wants in shared memory, by name
     */
    record Inference(
            InferMessage message, @Nullable String id, boolean last, Map<String, Map<String, Parameter>> sharedOutputs)
            implements ReplyMessage {

        /** A response with its own id. */
        public Inference(InferMessage message) {
            this(message, null, false, Map.of());
        }
    }

    /**
     * The next bytes of an inference response that is forwarded as it arrives, to a reply that {@linkplain
     * Reply#acceptsParts() accepts parts}; owned by the receiver. When the reply completes, the parts make up the
     * encoded ModelInferResponse or the REST body; if it fails, they are to be discarded.
     *
     * @param length of the whole message or body in bytes, the same in all its parts; {@link #UNKNOWN} for a body
     *     without a length
     * @param jsonLength of a REST body, as in {@link RestBody#jsonLength()}
     */
    record Part(ByteBuf bytes, long length, long jsonLength) implements ReplyMessage {
        /** The length is not known. */
        public static final long UNKNOWN = -1;

        /** A part of a protobuf message. */
        public Part(ByteBuf bytes, long length) {
            this(bytes, length, RestBody.ALL_JSON);
        }
    }

    /**
     * The failure of one request of a stream; the stream continues.
     *
     * @param id of the request; empty if it is not known
     */
    record StreamError(OipException failure, String id) implements ReplyMessage {}

    /** A JSON document or a protobuf message that is forwarded unchanged; owned by the receiver. */
    record Document(ByteBuf content) implements ReplyMessage {}

    /** Bytes of a stream of server-sent events that is forwarded unchanged; owned by the receiver. */
    record Events(ByteBuf content) implements ReplyMessage {}

    /** Size of its content in bytes; 0 for what is written as JSON or protobuf later. */
    default int size() {
        return switch (this) {
            case Inference inference -> size(inference.message());
            case Part part -> part.bytes().readableBytes();
            case Document document -> document.content().readableBytes();
            case Events events -> events.content().readableBytes();
            case Live _, Ready _, ModelReadyState _, Server _, Model _, StreamError _ -> 0;
        };
    }

    private static int size(InferMessage message) {
        return switch (message) {
            case InferMessage.RestMessage rest -> rest.body().content().readableBytes();
            case InferMessage.ProtobufMessage protobuf -> protobuf.message().readableBytes();
            case InferMessage.DecodedRequest _, InferMessage.Response _ -> 0;
        };
    }

    /** Releases the buffers of a message that is not delivered. */
    default void release() {
        switch (this) {
            case Inference inference -> inference.message().release();
            case Part part -> part.bytes().release();
            case Document document -> document.content().release();
            case Events events -> events.content().release();
            case Live _, Ready _, ModelReadyState _, Server _, Model _, StreamError _ -> {}
        }
    }
}
