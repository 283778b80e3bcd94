package dev.isthmus.gateway.dispatch;

import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.Wire;
import dev.isthmus.transcoder.WireLimits;
import dev.isthmus.transcoder.rest.OutputForms;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestRequest;
import dev.isthmus.transcoder.rest.RestRequestReader;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import org.jspecify.annotations.Nullable;

/**
 * A REST request, read as its parts arrive. It is always read in full, so that an upstream sees only what is valid; where
 * the upstream can take the body as the client sent it, that is what it gets.
 */
final class JsonBody implements RequestBody {
    private final RestRequestReader reader;
    private final Transcoder transcoder;
    private final ByteBufAllocator allocator;
    private final long jsonLength;
    private final Wire wire;
    private final boolean binary;
    private @Nullable CompositeByteBuf untouched;
    private OutputForms forms = OutputForms.JSON;

    JsonBody(
            Transcoder transcoder,
            ByteBufAllocator allocator,
            ModelRef model,
            long jsonLength,
            Wire wire,
            boolean binary,
            WireLimits limits) {
        this.reader = new RestRequestReader(allocator, model, jsonLength, limits);
        this.transcoder = transcoder;
        this.allocator = allocator;
        this.jsonLength = jsonLength;
        this.wire = wire;
        this.binary = binary;
        if (wire == Wire.REST && (binary || jsonLength == RestBody.ALL_JSON)) {
            this.untouched = allocator.compositeBuffer(Integer.MAX_VALUE);
        }
    }

    @Override
    public void add(ByteBuf chunk) {
        try {
            reader.feed(chunk);
            if (untouched != null) {
                untouched.addComponent(true, chunk.retainedSlice());
            }
        } finally {
            chunk.release();
        }
    }

    @Override
    public InferMessage finish() {
        RestRequest read = reader.finish();
        forms = read.outputForms();
        if (untouched == null) {
            return transcoder.request(allocator, new InferMessage.Request(read.request()), wire, binary);
        }
        read.request().release();
        RestBody body = new RestBody(untouched, jsonLength);
        untouched = null;
        return new InferMessage.Rest(body);
    }

    @Override
    public OutputForms outputForms() {
        return forms;
    }

    @Override
    public void release() {
        reader.release();
        if (untouched != null) {
            untouched.release();
            untouched = null;
        }
    }
}
