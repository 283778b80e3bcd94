package dev.isthmus.gateway.dispatch;

import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.Wire;
import dev.isthmus.transcoder.rest.OutputForms;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import org.jspecify.annotations.Nullable;

/** A protobuf request: passed on as it is to a protobuf upstream, transcoded for any other. */
final class ProtobufBody implements RequestBody {
    private final Transcoder transcoder;
    private final ByteBufAllocator allocator;
    private final Wire wire;
    private final boolean binary;
    private @Nullable ByteBuf message;

    ProtobufBody(Transcoder transcoder, ByteBufAllocator allocator, Wire wire, boolean binary) {
        this.transcoder = transcoder;
        this.allocator = allocator;
        this.wire = wire;
        this.binary = binary;
    }

    @Override
    public void add(ByteBuf chunk) {
        release();
        message = chunk;
    }

    @Override
    public InferMessage finish() {
        ByteBuf complete = message;
        if (complete == null) {
            throw OipException.invalid("a ModelInferRequest is expected, got none");
        }
        message = null;
        return transcoder.request(allocator, new InferMessage.Protobuf(complete), wire, binary);
    }

    @Override
    public OutputForms outputForms() {
        return OutputForms.JSON;
    }

    @Override
    public void release() {
        if (message != null) {
            message.release();
            message = null;
        }
    }
}
