package dev.isthmus.local.run;

import dev.isthmus.local.ort.OnnxModel;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.compare.NumberKey;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Set;

/**
 * Triton's classification extension: in place of an output, the elements with the highest scores, best first, each as
 * {@code score:index} or {@code score:index:label}. Of a model that batches, those of each row.
 */
final class Classification {
    private static final int DECIMALS = 6;
    private static final Set<DataType> UNSUPPORTED =
            EnumSet.of(DataType.BOOL, DataType.FP16, DataType.BF16, DataType.BYTES);

    private final OnnxModel model;
    private final ByteBufAllocator allocator;

    /** @param allocator of the outputs */
    Classification(OnnxModel model, ByteBufAllocator allocator) {
        this.model = model;
        this.allocator = allocator;
    }

    /** @throws OipException INVALID_ARGUMENT if an output cannot be classified as the request says */
    static void require(OnnxModel model, InferRequest request) {
        List<RequestedOutput> outputs = request.outputs();
        for (int i = 0; i < outputs.size(); i++) {
            Parameter wanted = outputs.get(i).parameters().get(RequestedOutput.CLASSIFICATION);
            if (wanted != null) {
                require(model, outputs.get(i).name(), wanted);
            }
        }
    }

    private static void require(OnnxModel model, String output, Parameter wanted) {
        String what = "model '" + model.ref().name() + "': output '" + output + "': ";
        if (!(wanted instanceof Parameter.Int64(long classes)) || classes < 0) {
            throw OipException.invalid(
                    what + "classification is a whole number from 0 on, got '" + wanted.text() + "'");
        }
        String type = model.outputs().stream()
                .filter(each -> each.name().equals(output))
                .map(TensorMetadata::dataType)
                .findFirst()
                .orElseThrow();
        if (classes > 0 && UNSUPPORTED.contains(DataType.byName(type).orElseThrow())) {
            throw OipException.invalid(what + "classification is not supported for " + type);
        }
    }

    /** Whether an output of the request is to be classified. */
    static boolean requested(InferRequest request) {
        List<RequestedOutput> outputs = request.outputs();
        for (int i = 0; i < outputs.size(); i++) {
            if (classes(outputs.get(i)) > 0) {
                return true;
            }
        }
        return false;
    }

    private static long classes(RequestedOutput output) {
        return output.parameters().get(RequestedOutput.CLASSIFICATION) instanceof Parameter.Int64(long classes)
                ? classes
                : 0;
    }

    /**
     * The outputs as the request wants them.
     *
     * @param outputs taken, in the order of the request
     */
    List<Tensor> of(List<RequestedOutput> requested, List<Tensor> outputs) {
        List<Tensor> all = new ArrayList<>(outputs);
        try {
            for (int i = 0; i < all.size(); i++) {
                long classes = classes(requested.get(i));
                Tensor scores = all.get(i);
                if (classes > 0) {
                    all.set(i, best(scores, classes));
                    scores.release();
                }
            }
            return all;
        } catch (RuntimeException | Error failure) {
            all.forEach(Tensor::release);
            throw failure;
        }
    }

    /** @param scores borrowed */
    private Tensor best(Tensor scores, long classes) {
        boolean batched = model.settings().maxBatchSize() > 0 && scores.shape().rank() > 0;
        int elements = scores.data().readableBytes() / scores.dataType().size();
        int rows = batched ? (int) scores.shape().extent(0) : 1;
        int columns = rows == 0 ? 0 : elements / rows;
        int count = (int) Math.min(classes, columns);
        List<String> labels = model.settings().labels().getOrDefault(scores.name(), List.of());
        ByteBuf data = allocator.directBuffer();
        try {
            for (int row = 0; row < rows; row++) {
                write(scores, row * columns, ranked(scores, row * columns, columns, count), labels, data);
            }
            Shape shape = batched ? Shape.of(rows, count) : Shape.of(count);
            return new Tensor(scores.name(), DataType.BYTES, shape, scores.parameters(), data);
        } catch (RuntimeException | Error failure) {
            data.release();
            throw failure;
        }
    }

    /** The columns of the highest scores of a row; of equal ones the first. */
    private static List<Integer> ranked(Tensor scores, int first, int columns, int count) {
        long[] keys = new long[columns];
        for (int i = 0; i < columns; i++) {
            keys[i] = key(scores, first + i);
        }
        Comparator<Integer> worstFirst =
                Comparator.<Integer>comparingLong(i -> keys[i]).thenComparing(Comparator.reverseOrder());
        PriorityQueue<Integer> best = new PriorityQueue<>(Math.max(count, 1), worstFirst);
        for (int i = 0; i < columns && count > 0; i++) {
            if (best.size() < count) {
                best.add(i);
            } else if (keys[i] > keys[best.element()]) {
                best.remove();
                best.add(i);
            }
        }
        return best.stream().sorted(worstFirst.reversed()).toList();
    }

    private static void write(Tensor scores, int first, List<Integer> columns, List<String> labels, ByteBuf data) {
        for (int column : columns) {
            String text = score(scores, first + column) + ":" + column;
            byte[] element =
                    (column < labels.size() ? text + ":" + labels.get(column) : text).getBytes(StandardCharsets.UTF_8);
            data.writeIntLE(element.length).writeBytes(element);
        }
    }

    /** A number in the order of the scores; NaN is the lowest. */
    private static long key(Tensor scores, int element) {
        return switch (scores.dataType()) {
            case FP32, FP64 -> {
                double score = floating(scores, element);
                long bits = Double.doubleToLongBits(score);
                yield Double.isNaN(score) ? Long.MIN_VALUE : bits ^ ((bits >> 63) & Long.MAX_VALUE);
            }
            default -> integer(scores, element);
        };
    }

    /** As C++ writes it: floats with six decimals. */
    private static String score(Tensor scores, int element) {
        return switch (scores.dataType()) {
            case FP32, FP64 -> text(floating(scores, element));
            case UINT64 -> Long.toUnsignedString(integer(scores, element) ^ Long.MIN_VALUE);
            default -> Long.toString(integer(scores, element));
        };
    }

    private static String text(double score) {
        String sign = Double.doubleToRawLongBits(score) < 0 ? "-" : "";
        if (Double.isNaN(score)) {
            return sign + "nan";
        }
        if (Double.isInfinite(score)) {
            return sign + "inf";
        }
        return sign
                + new BigDecimal(Math.abs(score))
                        .setScale(DECIMALS, RoundingMode.HALF_EVEN)
                        .toPlainString();
    }

    private static double floating(Tensor scores, int element) {
        int at = at(scores, element);
        return scores.dataType() == DataType.FP32
                ? scores.data().getFloatLE(at)
                : scores.data().getDoubleLE(at);
    }

    /** An integer's key; that of UINT64 has the other highest bit. */
    private static long integer(Tensor scores, int element) {
        return NumberKey.read(scores.dataType(), scores.data(), at(scores, element));
    }

    private static int at(Tensor scores, int element) {
        return scores.data().readerIndex() + element * scores.dataType().size();
    }
}
