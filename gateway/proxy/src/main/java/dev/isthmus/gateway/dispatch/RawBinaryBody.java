package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.dispatch.RequestBody.DecodedBody;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestOutline;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.ResponseForm;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.buffer.BufferCollector;
import dev.isthmus.transcoder.buffer.MessageSplice;
import dev.isthmus.transcoder.message.NonFinite;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.TensorCheck;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.rest.OutputForms;
import io.netty.buffer.ByteBuf;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A raw binary request: the body is the data of the model's one input, whose name, datatype and shape are the model's
 * (binary tensor data extension, "Raw Binary Request"). If one extent of the shape is variable, it follows from the
 * size of the body; if several are and the first is one of them, that one is the batch's, and the request is a batch of
 * one. A BYTES input has one element, without its length prefix. All outputs are returned as binary data, in events as
 * JSON.
 */
final class RawBinaryBody extends RequestBody {
    private final OutputForms outputs;
    private final BufferCollector gathered;
    private @Nullable ByteBuf body;
    private @Nullable ModelMetadata metadata;

    /** @param nonFinite how NaN and the infinities are written in events */
    RawBinaryBody(Exchange exchange, Operation.Infer infer, Transcoder transcoder, NonFinite nonFinite) {
        super(exchange, infer.model(), transcoder);
        this.outputs = infer.stream() ? OutputForms.JSON.with(nonFinite) : OutputForms.BINARY;
        this.gathered = new BufferCollector(allocator);
    }

    @Override
    void add(ByteBuf chunk) {
        gathered.add(chunk);
    }

    @Override
    public boolean needsMetadata() {
        return !isTransformed();
    }

    @Override
    public void describe(ModelMetadata model) {
        metadata = model;
        forget();
    }

    @Override
    long held() {
        return gathered.bytes();
    }

    @Override
    void end() {
        body = gathered.take();
    }

    @Override
    Map<String, Parameter> parameters() {
        return Map.of();
    }

    @Override
    String receivedId() {
        return "";
    }

    @Override
    UpstreamMessage prepare(ServerFeatures peer, ModelRef model, @Nullable Consumer<RequestOutline> show) {
        DecodedBody decoded = decode(peer, model);
        if (show != null) {
            decoded.show(show);
        }
        return decoded.encoded(transcoder, allocator, peer);
    }

    @Override
    DecodedBody decode(ServerFeatures peer, ModelRef model) {
        ModelMetadata.TensorMetadata input = input();
        DataType type = TensorCheck.INPUT.dataType(input.name(), input.dataType());
        ByteBuf whole = body;
        if (whole == null) {
            throw OipException.invalid("raw binary request: a body is expected");
        }
        Shape shape = type == DataType.BYTES ? shape(input, 1) : shape(input, elements(input, type, whole));
        ByteBuf data = type == DataType.BYTES ? element(whole) : MessageSplice.retained(whole);
        InferRequest request;
        try {
            TensorCheck.INPUT.requireRaw(input.name(), type, shape, data);
            request = new InferRequest(
                    model, "", Map.of(), List.of(new Tensor(input.name(), type, shape, Map.of(), data)), List.of());
        } catch (OipException e) {
            data.release();
            throw e;
        }
        return new DecodedBody(
                new InferMessage.DecodedRequest(request),
                new ResponseForm(Wire.REST, false, outputs, false, Map.of(), "", responseModel(model)));
    }

    /** One BYTES element, with its length prefix. */
    private ByteBuf element(ByteBuf bytes) {
        return allocator
                .compositeBuffer(Integer.MAX_VALUE)
                .addComponent(true, allocator.buffer(Integer.BYTES).writeIntLE(bytes.readableBytes()))
                .addFlattenedComponents(true, MessageSplice.retained(bytes));
    }

    private ModelMetadata.TensorMetadata input() {
        ModelMetadata model = Objects.requireNonNull(metadata);
        if (model.inputs().size() != 1) {
            throw OipException.invalid("raw binary request: a model with one input is expected, '" + model.name()
                    + "' has " + model.inputs().size());
        }
        return model.inputs().get(0);
    }

    private static long elements(ModelMetadata.TensorMetadata input, DataType type, ByteBuf body) {
        if (body.readableBytes() % type.size() != 0) {
            throw OipException.invalid("raw binary request: input '" + input.name() + "' of " + type
                    + " has elements of " + type.size() + " bytes, got " + body.readableBytes() + " bytes");
        }
        return body.readableBytes() / type.size();
    }

    private static Shape shape(ModelMetadata.TensorMetadata input, long elements) {
        long[] extents = input.shape().toArray();
        int variable = 0;
        long fixed = 1;
        for (long extent : extents) {
            variable += extent < 0 ? 1 : 0;
            // Inexact only where it is more than any body has.
            fixed = extent < 0 ? fixed : (long) ((double) fixed * extent);
        }
        if (variable > 1 && extents[0] < 0) {
            extents[0] = 1;
            variable--;
        }
        // Several are unambiguous only if each must be one.
        if (variable > 1 && elements != fixed) {
            throw OipException.invalid("raw binary request: input '" + input.name() + "' of shape " + input.shape()
                    + " has more than one variable extent");
        }
        for (int i = 0; i < extents.length; i++) {
            if (extents[i] < 0) {
                extents[i] = fixed == 0 ? 0 : elements / fixed;
            }
        }
        return Shape.of(extents);
    }

    @Override
    void releaseReceived() {
        gathered.release();
        if (body != null) {
            body.release();
            body = null;
        }
    }
}
