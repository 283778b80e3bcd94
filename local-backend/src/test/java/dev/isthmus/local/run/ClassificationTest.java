package dev.isthmus.local.run;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.local.ort.OnnxModel;
import dev.isthmus.local.repository.ModelSettings;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Classification of the outputs of identity models, whose scores are the inputs. */
class ClassificationTest {
    private final LocalExecutor executor = new LocalExecutor(1, 8);
    private final List<OnnxModel> models = new ArrayList<>();

    @AfterEach
    void close() {
        executor.close();
        models.forEach(OnnxModel::release);
    }

    private OnnxModel model(DataType type, int maxBatchSize, String... labels) {
        ModelSettings plain = ModelSettings.DEFAULT;
        ModelSettings settings = new ModelSettings(
                plain.versions(),
                maxBatchSize,
                maxBatchSize == 0 ? null : Duration.ofMinutes(1),
                0,
                null,
                1,
                null,
                List.of(),
                List.of(),
                true,
                Map.of("OUTPUT0", List.of(labels)));
        OnnxModel model = Runs.model("identity_" + type.name().toLowerCase(Locale.ROOT), settings);
        models.add(model);
        return model;
    }

    private static InferRequest request(DataType type, Parameter classes, ByteBuf scores, long... shape) {
        Tensor input = new Tensor("INPUT0", type, Shape.of(shape), Map.of(), scores);
        RequestedOutput output = new RequestedOutput("OUTPUT0", Map.of("classification", classes));
        return new InferRequest(ModelRef.of("m"), "id", Map.of(), List.of(input), List.of(output));
    }

    @SafeVarargs
    private static <T> ByteBuf scores(BiConsumer<ByteBuf, T> write, T... values) {
        ByteBuf data = ByteBufAllocator.DEFAULT.directBuffer();
        for (T value : values) {
            write.accept(data, value);
        }
        return data;
    }

    private static ByteBuf floats(Float... values) {
        return scores(ByteBuf::writeFloatLE, values);
    }

    private static List<String> classes(Outcome outcome, long... shape) throws Exception {
        Tensor output = outcome.response().tensor("OUTPUT0");
        assertThat(output.dataType()).isEqualTo(DataType.BYTES);
        assertThat(output.shape()).isEqualTo(Shape.of(shape));
        List<String> elements = new ArrayList<>();
        ByteBuf data = output.data().slice();
        while (data.isReadable()) {
            elements.add(data.readCharSequence(data.readIntLE(), StandardCharsets.UTF_8)
                    .toString());
        }
        outcome.response().response().release();
        return elements;
    }

    private Outcome submit(OnnxModel model, InferRequest request) {
        return Runs.submit(executor, model, request);
    }

    @Test
    void highestScores_comeFirst_withIndexAndLabel() throws Exception {
        OnnxModel model = model(DataType.FP32, 0, "zero", "one");
        InferRequest request = request(DataType.FP32, new Parameter.Int64(2), floats(0.1f, 0.7f, 0.2f), 1, 3);
        assertThat(classes(submit(model, request), 2)).containsExactly("0.700000:1:one", "0.200000:2");
    }

    @Test
    void modelThatBatches_hasThemForEachRow() throws Exception {
        OnnxModel model = model(DataType.FP32, 2, "zero", "one", "two");
        InferRequest request =
                request(DataType.FP32, new Parameter.Int64(2), floats(0.1f, 0.7f, 0.2f, 3f, 2f, 1f), 2, 3);
        assertThat(classes(submit(model, request), 2, 2))
                .containsExactly("0.700000:1:one", "0.200000:2:two", "3.000000:0:zero", "2.000000:1:one");
    }

    @Test
    void requestsThatShareARun_haveTheirOwnNumbers() throws Exception {
        OnnxModel model = model(DataType.FP32, 2);
        Outcome one = submit(model, request(DataType.FP32, new Parameter.Int64(1), floats(1f, 2f), 1, 2));
        Outcome all = submit(model, request(DataType.FP32, new Parameter.Int64(9), floats(4f, 3f), 1, 2));
        assertThat(classes(one, 1, 1)).containsExactly("2.000000:1");
        assertThat(classes(all, 1, 2)).containsExactly("4.000000:0", "3.000000:1");
    }

    @Test
    void noClasses_areTheValues() throws Exception {
        InferRequest request = request(DataType.FP32, new Parameter.Int64(0), floats(1f), 1, 1);
        Outcome outcome = submit(model(DataType.FP32, 0), request);
        assertThat(outcome.response().tensor("OUTPUT0").dataType()).isEqualTo(DataType.FP32);
        outcome.release();
    }

    @Test
    void equalScores_areInTheirOrder_andNanIsLast() throws Exception {
        ByteBuf scores = floats(Float.NaN, 1f, -0.25e-6f, Float.NEGATIVE_INFINITY, 1f);
        InferRequest request = request(DataType.FP32, new Parameter.Int64(5), scores, 1, 5);
        assertThat(classes(submit(model(DataType.FP32, 0), request), 5))
                .containsExactly("1.000000:1", "1.000000:4", "-0.000000:2", "-inf:3", "nan:0");
    }

    @Test
    void integers_keepAllDigits() throws Exception {
        ByteBuf unsigned = scores(ByteBuf::writeLongLE, 7L, -1L);
        assertThat(classes(
                        submit(
                                model(DataType.UINT64, 0),
                                request(DataType.UINT64, new Parameter.Int64(2), unsigned, 1, 2)),
                        2))
                .containsExactly("18446744073709551615:1", "7:0");
        ByteBuf small = scores(ByteBuf::writeByte, -3, 2);
        assertThat(classes(
                        submit(model(DataType.INT8, 0), request(DataType.INT8, new Parameter.Int64(1), small, 1, 2)),
                        1))
                .containsExactly("2:1");
    }

    @Test
    void otherValuesOfTheParameter_areRefused() throws Exception {
        OnnxModel model = model(DataType.FP32, 0);
        for (Parameter wrong : List.of(
                new Parameter.Int64(-1),
                new Parameter.Text("2"),
                new Parameter.Bool(true),
                new Parameter.Float64(1.5),
                new Parameter.Uint64(-1))) {
            OipException failure = submit(model, request(DataType.FP32, wrong, floats(1f), 1, 1))
                    .failure();
            assertThat(failure.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT);
            assertThat(failure.message()).contains("output 'OUTPUT0': classification is a whole number from 0 on");
        }
    }

    @Test
    void datatypesThatTritonDoesNotClassify_areRefused() throws Exception {
        ByteBuf half = scores(ByteBuf::writeShortLE, 1);
        OipException failure = submit(
                        model(DataType.FP16, 0), request(DataType.FP16, new Parameter.Int64(1), half, 1, 1))
                .failure();
        assertThat(failure.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT);
        assertThat(failure.message()).endsWith("output 'OUTPUT0': classification is not supported for FP16");
    }

    @Test
    void sequences_areRefused() throws Exception {
        OnnxModel model = model(DataType.FP32, 0);
        for (Parameter id : List.of(new Parameter.Int64(0), new Parameter.Text(""))) {
            submit(model, inSequence(id)).release();
        }
        for (Parameter id : List.of(new Parameter.Int64(7), new Parameter.Uint64(-7), new Parameter.Text("a"))) {
            OipException failure = submit(model, inSequence(id)).failure();
            assertThat(failure.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT);
            assertThat(failure.message()).contains("local models have no sequences");
        }
    }

    private static InferRequest inSequence(Parameter id) {
        InferRequest plain = request(DataType.FP32, new Parameter.Int64(0), floats(1f), 1, 1);
        return new InferRequest(plain.model(), "", Map.of("sequence_id", id), plain.inputs(), plain.outputs());
    }
}
