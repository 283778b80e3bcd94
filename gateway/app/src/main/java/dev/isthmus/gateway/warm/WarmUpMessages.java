package dev.isthmus.gateway.warm;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.ResponseForm;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.message.Dialect;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.rest.OutputForms;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Requests and responses with an FP32 tensor and a small one of INT32, encoded for each call. Thread-safe. Owns the tensors. */
final class WarmUpMessages implements AutoCloseable {
    static final int MAX_BYTES = 1 << 20;

    private static final ByteBufAllocator ALLOCATOR = UnpooledByteBufAllocator.DEFAULT;
    private static final Transcoder TRANSCODER = new Transcoder(WireLimits.DEFAULT);

    /** At most as many as any size has floats; they share the memory. */
    private static final int INTEGERS = 16;

    private final int floats;
    private final ByteBuf data;

    WarmUpMessages(int floats) {
        this.floats = floats;
        this.data = ALLOCATOR.directBuffer(tensorBytes(), tensorBytes());
        for (int i = 0; i < floats; i++) {
            // Like pixels: nine digits, both signs.
            data.writeFloatLE((i * 37 % 255) / 255f - 0.25f);
        }
    }

    @Override
    public void close() {
        data.release();
    }

    int tensorBytes() {
        return floats * Float.BYTES;
    }

    /** @param binary on the REST wire: whether the tensor is binary data after the JSON */
    InferMessage request(ModelRef model, Wire wire, boolean binary) {
        InferRequest request = new InferRequest(model, "", Map.of(), tensors("in"), List.of());
        return TRANSCODER.request(
                ALLOCATOR,
                new InferMessage.DecodedRequest(request, Set.of()),
                new ServerFeatures(wire, Dialect.GENERIC, binary, false));
    }

    /** As {@link #request}. */
    InferMessage response(ModelRef model, Wire wire, boolean binary) {
        InferResponse response = new InferResponse(model, "", Map.of(), tensors("out"));
        ResponseForm form = new ResponseForm(
                wire, false, binary ? OutputForms.BINARY : OutputForms.JSON, false, Map.of(), null, null);
        return TRANSCODER.response(ALLOCATOR, new InferMessage.Response(response), form);
    }

    private List<Tensor> tensors(String name) {
        return List.of(
                new Tensor(name, DataType.FP32, Shape.of(1, floats), Map.of(), data.retainedDuplicate()),
                new Tensor(
                        name + "_ids",
                        DataType.INT32,
                        Shape.of(1, INTEGERS),
                        Map.of(),
                        data.retainedSlice(0, INTEGERS * Integer.BYTES)));
    }
}
