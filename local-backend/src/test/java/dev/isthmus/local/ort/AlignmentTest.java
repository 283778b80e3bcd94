package dev.isthmus.local.ort;

import static dev.isthmus.local.ort.Fixtures.ALLOCATOR;
import static dev.isthmus.local.ort.Fixtures.aligned;
import static dev.isthmus.local.ort.Fixtures.request;
import static dev.isthmus.local.ort.Fixtures.run;
import static dev.isthmus.local.ort.Fixtures.source;
import static dev.isthmus.local.ort.Fixtures.tensor;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The results of a model do not depend on the address of its inputs. */
class AlignmentTest {
    private OnnxModel sums;

    @BeforeEach
    void load() {
        sums = OnnxModel.load(source("sums", Path.of("src/test/resources/execution/sums.onnx")), "cpu");
    }

    @AfterEach
    void close() {
        sums.release();
    }

    private static byte[] numbers(int count) {
        SplittableRandom random = new SplittableRandom(count);
        ByteBuf data = ALLOCATOR.directBuffer();
        for (int i = 0; i < count; i++) {
            data.writeFloatLE((float) random.nextDouble(-1000, 1000));
        }
        byte[] raw = ByteBufUtil.getBytes(data);
        data.release();
        return raw;
    }

    private List<String> results(ByteBuf input, int rows, int columns) {
        List<Tensor> outputs = run(sums, request(tensor("INPUT0", DataType.FP32, input, rows, columns)));
        List<String> bits = outputs.stream()
                .map(output -> ByteBufUtil.hexDump(output.data()))
                .toList();
        outputs.forEach(Tensor::release);
        return bits;
    }

    /** The numbers of columns are those of small inputs, and of one that has its own copy. */
    @ParameterizedTest
    @ValueSource(ints = {3, 37, 1001, 10_007})
    void everyOffset_hasTheSameBits(int columns) {
        byte[] raw = numbers(2 * columns);
        List<String> expected = results(aligned(0, raw), 2, columns);
        for (int offset = 0; offset < 2 * NativeMemory.ALIGNMENT; offset++) {
            assertThat(results(aligned(offset, raw), 2, columns))
                    .as("offset %s", offset)
                    .isEqualTo(expected);
        }
    }

    @Test
    void alignedInput_isReadInPlace_andAnyOtherIsCopied() {
        byte[] raw = numbers(64);
        results(aligned(0, raw), 1, 64);
        assertThat(sums.copies().gathered()).isZero();
        results(aligned(4, raw), 1, 64);
        assertThat(sums.copies().gathered()).isEqualTo(raw.length);
    }
}
