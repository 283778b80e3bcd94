package dev.isthmus.transcoder;

import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.buffer.MessageSplice;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBuf;
import java.util.Set;

/** An inference request or response, encoded or decoded. Owns its buffers. */
public sealed interface InferMessage {

    Wire wire();

    void release();

    /** The size of its buffers, in bytes. */
    long bytes();

    /** A copy that shares the buffers' memory, with its own indices and references; must be released separately. */
    InferMessage retained();

    record RestMessage(RestBody body) implements InferMessage {
        @Override
        public Wire wire() {
            return Wire.REST;
        }

        @Override
        public long bytes() {
            return body.content().readableBytes();
        }

        @Override
        public void release() {
            body.release();
        }

        @Override
        public RestMessage retained() {
            return new RestMessage(body.retained());
        }
    }

    /** An encoded ModelInferRequest or ModelInferResponse, without gRPC's length prefix. */
    record ProtobufMessage(ByteBuf message) implements InferMessage {
        @Override
        public Wire wire() {
            return Wire.PROTOBUF;
        }

        @Override
        public long bytes() {
            return message.readableBytes();
        }

        @Override
        public void release() {
            message.release();
        }

        @Override
        public ProtobufMessage retained() {
            return new ProtobufMessage(MessageSplice.retained(message));
        }
    }

    /**
     * A decoded request.
     *
     * @param plainInputs the names of the inputs received as JSON that every server interprets alike
     */
    record DecodedRequest(InferRequest request, Set<String> plainInputs) implements InferMessage {

        public DecodedRequest {
            plainInputs = Set.copyOf(plainInputs);
        }

        /** A request that was not received as JSON. */
        public DecodedRequest(InferRequest request) {
            this(request, Set.of());
        }

        @Override
        public Wire wire() {
            return Wire.DECODED;
        }

        @Override
        public long bytes() {
            return Tensor.bytes(request.inputs());
        }

        @Override
        public void release() {
            request.release();
        }

        @Override
        public DecodedRequest retained() {
            return new DecodedRequest(request.retained(), plainInputs);
        }
    }

    /** A decoded response. */
    record Response(InferResponse response) implements InferMessage {
        @Override
        public Wire wire() {
            return Wire.DECODED;
        }

        @Override
        public long bytes() {
            return Tensor.bytes(response.outputs());
        }

        @Override
        public void release() {
            response.release();
        }

        @Override
        public Response retained() {
            return new Response(response.retained());
        }
    }
}
