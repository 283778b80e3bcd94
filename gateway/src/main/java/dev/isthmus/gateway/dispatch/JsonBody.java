package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.BodyForm;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.AnswerForm;
import dev.isthmus.transcoder.Gathering;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.NonFinite;
import dev.isthmus.transcoder.Peer;
import dev.isthmus.transcoder.RestParts;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.Wire;
import dev.isthmus.transcoder.WireLimits;
import dev.isthmus.transcoder.rest.OutputForms;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestRequest;
import dev.isthmus.transcoder.rest.RestRequestReader;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A REST request, read as its parts arrive. It is always read in full, so that an upstream sees only what is valid; where
 * the upstream takes the body as the client sent it and would lose nothing, that is what it gets. Binary data of sizes that
 * are known to be right passes to a gRPC server as it comes.
 */
final class JsonBody implements RequestBody {
    private final RestRequestReader reader;
    private final Transcoder transcoder;
    private final ByteBufAllocator allocator;
    private final ModelRef asked;
    private final BodyForm.Rest sent;
    private final NonFinite nonFinite;
    private final boolean events;
    private @Nullable Gathering original;
    private @Nullable ByteBuf body;
    private @Nullable RestRequest read;
    private @Nullable InParts parts;

    /**
     * A body that will come.
     *
     * @param asked the model as the client names it
     * @param nonFinite how the client gets NaN and the infinities, whether it says so or not
     */
    JsonBody(
            Transcoder transcoder,
            ByteBufAllocator allocator,
            ModelRef asked,
            BodyForm.Rest sent,
            NonFinite nonFinite,
            boolean events,
            Reading reading,
            WireLimits limits) {
        this.reader = new RestRequestReader(
                allocator,
                asked,
                sent.jsonLength(),
                reading.anyParameter(),
                limits.withSharedMemory(reading.sharedMemory()));
        this.transcoder = transcoder;
        this.allocator = allocator;
        this.asked = asked;
        this.sent = sent;
        this.nonFinite = nonFinite;
        this.events = events;
        this.original = reading.original() ? new Gathering(allocator) : null;
    }

    @Override
    public void add(ByteBuf chunk) {
        try {
            reader.feed(chunk);
            if (original != null) {
                original.add(chunk.retainedDuplicate());
            }
        } finally {
            chunk.release();
        }
    }

    @Override
    public @Nullable Passing passing() {
        if (parts == null) {
            RestRequest head = reader.head(sent.bodyLength());
            if (head != null && head.foreignParameter() == null) {
                read = head;
                parts = new InParts(head);
            }
        }
        return parts;
    }

    @Override
    public long held() {
        return reader.held() + (original == null ? 0 : original.bytes());
    }

    @Override
    public void end() {
        if (parts != null && parts.started()) {
            reader.requireComplete();
            return;
        }
        read = reader.finish();
        body = original == null ? null : original.take();
    }

    @Override
    public Map<String, Parameter> parameters() {
        return complete().request().parameters();
    }

    @Override
    public String id() {
        return complete().request().id();
    }

    private RestRequest complete() {
        RestRequest complete = read;
        if (complete == null) {
            throw new IllegalStateException("the body has not ended");
        }
        return complete;
    }

    @Override
    public Prepared prepare(Peer peer, ModelRef model) {
        RestRequest complete = complete();
        OutputForms wanted = complete.outputForms().with(nonFinite);
        // Binary data has no place in a server-sent event.
        OutputForms outputs = events ? wanted.withoutBinary() : wanted;
        ByteBuf asItCame = body;
        boolean untouched = asItCame != null && peer.wire() == Wire.REST && takesOriginal(complete, peer);
        boolean answerUntouched = untouched && nonFinite == NonFinite.TOKEN && outputs.equals(wanted);
        AnswerForm form = form(complete, model, outputs, answerUntouched);
        if (asItCame != null && untouched) {
            return new Prepared(new InferMessage.Rest(new RestBody(asItCame, sent.jsonLength())).retained(), form);
        }
        String foreign = complete.foreignParameter();
        if (foreign != null) {
            throw OipException.invalid("parameter '" + foreign
                    + "': a string, a number or a boolean is expected in a request "
                    + (sent.jsonLength() == RestBody.ALL_JSON ? "to this model" : "with binary data"));
        }
        InferRequest request = complete.request().retained().withModel(model);
        return new Prepared(
                transcoder.request(allocator, new InferMessage.Request(request, complete.plainInputs()), peer), form);
    }

    private AnswerForm form(RestRequest request, ModelRef model, OutputForms outputs, boolean untouched) {
        String answered = model.name().equals(asked.name()) ? null : asked.name();
        return new AnswerForm(
                Wire.REST, untouched, outputs, false, request.request().id(), answered);
    }

    /** Whether the server reads the body as the client sent it without losing anything, and answers as it was asked. */
    private static boolean takesOriginal(RestRequest read, Peer peer) {
        OutputForms outputs = read.outputForms();
        if (read.contestedInputs()
                || (read.base64Inputs() && !peer.dialect().base64())
                || !outputs.base64().isEmpty()
                || !peer.dialect().takesId(read.request().id())
                || (read.foreignParameter() != null && !peer.dialect().anyParameter())
                || (!peer.sharedMemory() && inSharedMemory(read.request()))) {
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

    private static boolean inSharedMemory(InferRequest request) {
        return request.inputs().stream().anyMatch(Tensor::shared)
                || request.outputs().stream()
                        .anyMatch(output -> output.parameters().containsKey(Tensor.SHARED_MEMORY_REGION));
    }

    @Override
    public void release() {
        reader.release();
        if (original != null) {
            original.release();
        }
        if (body != null) {
            body.release();
            body = null;
        }
        if (read != null) {
            read.request().release();
            read = null;
        }
        if (parts != null) {
            parts.release();
        }
    }

    /** The request as one whose JSON has come, and whose binary data need not be gathered. */
    private final class InParts implements Passing {
        private final RestRequest head;
        private @Nullable RestParts message;

        InParts(RestRequest head) {
            this.head = head;
        }

        boolean started() {
            return message != null;
        }

        @Override
        public long length() {
            return sent.bodyLength();
        }

        @Override
        public @Nullable Begun start(Peer peer, ModelRef model) {
            if (peer.wire() != Wire.PROTOBUF) {
                return null;
            }
            RestParts begun = transcoder.parts(allocator, head.request().withModel(model), reader, peer);
            message = begun;
            if (original != null) {
                original.release();
                original = null;
            }
            return new Begun(
                    begun.length(), form(head, model, head.outputForms().with(nonFinite), false));
        }

        @Override
        public boolean waits() {
            return message != null && message.waits();
        }

        @Override
        public ByteBuf take() {
            return message == null ? Unpooled.EMPTY_BUFFER : message.take();
        }

        void release() {
            if (message != null) {
                message.release();
            }
        }
    }
}
