package dev.isthmus.gateway.dispatch;

import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.AnswerForm;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.NonFinite;
import dev.isthmus.transcoder.Peer;
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
 * the upstream takes the body as the client sent it and would lose nothing, that is what it gets.
 */
final class JsonBody implements RequestBody {
    private final RestRequestReader reader;
    private final Transcoder transcoder;
    private final ByteBufAllocator allocator;
    private final long jsonLength;
    private final Peer peer;
    private final NonFinite nonFinite;
    private final boolean events;
    private @Nullable CompositeByteBuf original;
    private AnswerForm form = new AnswerForm(Wire.REST, true, OutputForms.JSON, false, null);

    JsonBody(
            Transcoder transcoder,
            ByteBufAllocator allocator,
            ModelRef model,
            long jsonLength,
            NonFinite nonFinite,
            boolean events,
            Peer peer,
            WireLimits limits) {
        boolean any = peer.wire() == Wire.REST && peer.dialect().anyParameter();
        this.reader =
                new RestRequestReader(allocator, model, jsonLength, any, limits.withSharedMemory(peer.sharedMemory()));
        this.transcoder = transcoder;
        this.allocator = allocator;
        this.jsonLength = jsonLength;
        this.nonFinite = nonFinite;
        this.events = events;
        this.peer = peer;
        if (peer.wire() == Wire.REST && (peer.binaryTensorData() || jsonLength == RestBody.ALL_JSON)) {
            this.original = allocator.compositeBuffer(Integer.MAX_VALUE);
        }
    }

    @Override
    public void add(ByteBuf chunk) {
        try {
            reader.feed(chunk);
            if (original != null) {
                original.addComponent(true, chunk.retainedSlice());
            }
        } finally {
            chunk.release();
        }
    }

    @Override
    public InferMessage finish() {
        RestRequest read = reader.finish();
        OutputForms asked = read.outputForms().with(nonFinite);
        // Binary data has no place in a server-sent event.
        OutputForms outputs = events ? asked.withoutBinary() : asked;
        CompositeByteBuf body = original;
        boolean untouched = body != null && takesOriginal(read);
        boolean answerUntouched = untouched && nonFinite == NonFinite.TOKEN && outputs.equals(asked);
        form = new AnswerForm(
                Wire.REST, answerUntouched, outputs, false, read.request().id());
        if (body != null && untouched) {
            read.request().release();
            original = null;
            return new InferMessage.Rest(new RestBody(body, jsonLength));
        }
        release();
        String foreign = read.foreignParameter();
        if (foreign != null) {
            read.request().release();
            throw OipException.invalid("parameter '" + foreign
                    + "': a string, a number or a boolean is expected in a request with binary data");
        }
        return transcoder.request(allocator, new InferMessage.Request(read.request(), read.plainInputs()), peer);
    }

    /** Whether the server reads the body as the client sent it without losing anything, and answers as it was asked. */
    private boolean takesOriginal(RestRequest read) {
        OutputForms outputs = read.outputForms();
        if (read.contestedInputs()
                || (read.base64Inputs() && !peer.dialect().base64())
                || !outputs.base64().isEmpty()
                || !peer.dialect().takesId(read.request().id())) {
            return false;
        }
        if (!peer.binaryTensorData()) {
            return !outputs.anyBinary();
        }
        if (peer.dialect().lossyJson()) {
            return (read.allBinary() || peer.dialect().keepsJson())
                    && outputs.allBinary(read.request().outputs());
        }
        return outputs.explicit(read.request().outputs());
    }

    @Override
    public AnswerForm answerForm() {
        return form;
    }

    @Override
    public void release() {
        reader.release();
        if (original != null) {
            original.release();
            original = null;
        }
    }
}
