package dev.isthmus.local;

import dev.isthmus.local.ort.OnnxModel;
import dev.isthmus.local.ort.RunHandle;
import dev.isthmus.local.repository.WarmUpRequest;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs a model before it is ready, so that the first request does not wait for the runtime's one-time initialization.
 */
final class WarmUpRun {
    private static final Logger LOG = LoggerFactory.getLogger(WarmUpRun.class);
    private static final long MAX_BYTES = 256 << 20;
    private static final int WORD = 8;

    private final OnnxModel model;
    private final RandomGenerator random;
    private final RunHandle handle;

    /** @param handle of all its runs; terminates them */
    WarmUpRun(OnnxModel model, RandomGenerator random, RunHandle handle) {
        this.model = model;
        this.random = random;
        this.handle = handle;
    }

    /**
     * Runs the configured samples, or one of zeros with 1 for each variable extent. The latter may fail, because a
     * model need not accept zeros; configured samples must succeed. Models with a translator are not run with zeros.
     *
     * @throws OipException if a configured sample fails, or it was terminated
     */
    void run(List<WarmUpRequest> samples) {
        for (WarmUpRequest sample : samples) {
            for (int i = 0; i < sample.count(); i++) {
                run(sample);
            }
        }
        if (samples.isEmpty() && !model.translated()) {
            try {
                run(zeros());
            } catch (OipException e) {
                if (handle.terminated()) {
                    throw e;
                }
                LOG.warn("model {} is not warmed up: {}", model.ref(), e.message());
            }
        }
    }

    private WarmUpRequest zeros() {
        return new WarmUpRequest(
                "zeros", 1, model.inputs().stream().map(WarmUpRun::zeros).toList());
    }

    private static WarmUpRequest.Input zeros(TensorMetadata input) {
        List<Long> extents = input.shape().toList().stream()
                .map(extent -> extent < 0 ? 1 : extent)
                .toList();
        DataType type = DataType.byName(input.dataType()).orElseThrow();
        return new WarmUpRequest.Input(input.name(), type, Shape.of(extents), false);
    }

    private void run(WarmUpRequest sample) {
        List<Tensor> inputs = new ArrayList<>();
        try {
            for (WarmUpRequest.Input input : sample.inputs()) {
                inputs.add(new Tensor(input.name(), input.type(), input.shape(), Map.of(), data(input)));
            }
            InferRequest request = new InferRequest(model.ref(), "", Map.of(), inputs, List.of());
            model.require(request);
            model.run(request, handle, UnpooledByteBufAllocator.DEFAULT).forEach(Tensor::release);
        } catch (OipException e) {
            throw new OipException(ErrorCode.FAILED_PRECONDITION, "warm-up '" + sample.name() + "': " + e.message(), e);
        } finally {
            inputs.forEach(Tensor::release);
        }
    }

    private ByteBuf data(WarmUpRequest.Input input) {
        long elements = elements(input);
        DataType type = input.type();
        int word = input.random() ? WORD : 0;
        long size = type.fixedSize() ? type.size() : Integer.BYTES + word;
        if (elements > MAX_BYTES / size) {
            throw new OipException(
                    ErrorCode.FAILED_PRECONDITION,
                    "input '" + input.name() + "': at most " + MAX_BYTES + " bytes are expected, got shape "
                            + input.shape() + " of " + type);
        }
        int bytes = (int) (elements * size);
        ByteBuf data = UnpooledByteBufAllocator.DEFAULT.directBuffer(Math.max(bytes, 1));
        if (!input.random()) {
            return data.writeZero(bytes);
        }
        for (long i = 0; i < elements; i++) {
            write(type, data);
        }
        return data;
    }

    private static long elements(WarmUpRequest.Input input) {
        try {
            return input.shape().elementCount();
        } catch (ArithmeticException tooMany) {
            return Long.MAX_VALUE;
        }
    }

    /** Writes a random element: floats between 0 and 1, any value of other datatypes. */
    private void write(DataType type, ByteBuf data) {
        switch (type) {
            case BOOL -> data.writeBoolean(random.nextBoolean());
            case UINT8, INT8 -> data.writeByte(random.nextInt());
            case UINT16, INT16 -> data.writeShortLE(random.nextInt());
            case UINT32, INT32 -> data.writeIntLE(random.nextInt());
            case UINT64, INT64 -> data.writeLongLE(random.nextLong());
            case FP16 -> data.writeShortLE(Float.floatToFloat16(random.nextFloat()));
            case BF16 -> data.writeShortLE(Float.floatToIntBits(random.nextFloat()) >>> Short.SIZE);
            case FP32 -> data.writeIntLE(Float.floatToIntBits(random.nextFloat()));
            case FP64 -> data.writeLongLE(Double.doubleToLongBits(random.nextDouble()));
            case BYTES -> {
                data.writeIntLE(WORD);
                data.writeCharSequence(String.format("%08x", random.nextInt()), StandardCharsets.US_ASCII);
            }
        }
    }
}
