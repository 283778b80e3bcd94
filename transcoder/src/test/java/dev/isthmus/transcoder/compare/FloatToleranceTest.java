package dev.isthmus.transcoder.compare;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FloatToleranceTest {
    private static InferResponse response(DataType type, ByteBuf data) {
        Tensor tensor = new Tensor("OUT", type, Shape.of(data.readableBytes() / type.size()), Map.of(), data);
        return new InferResponse(ModelRef.of("m"), "", Map.of(), List.of(tensor));
    }

    private static boolean accepts(FloatTolerance tolerance, InferResponse first, InferResponse second) {
        OutputComparison output = TensorComparison.of(first, second).getFirst();
        return tolerance.accepts(output, first, second);
    }

    @ParameterizedTest
    @CsvSource({
        // first, second, rtol, atol, expected
        "1, 1, 0, 0, true",
        "1, 1.5, 0, 0, false",
        "1, 1.5, 0, 0.5, true",
        "1, 1.5, 0.5, 0, true",
        "1, 1.5, 0.25, 0.25, true",
        "1, 1.5, 0.25, 0.125, false",
        "-4, -5, 0.25, 0, true",
        "0, 0.001, 0.5, 0, false",
        "0, -0.0, 0, 0, true",
        "NaN, NaN, 0, 0, true",
        "NaN, 1, 1e300, 1e300, false",
        "1, NaN, 1e300, 1e300, false",
        "Infinity, Infinity, 0, 0, true",
        "Infinity, 1, 1e300, 1e300, false",
        "1, Infinity, 1e300, 1e300, false",
        "Infinity, -Infinity, 1e300, 1e300, false",
    })
    void elements_mayDifferBy_atolAndRtolOfTheFirst(
            double first, double second, double rtol, double atol, boolean expected) {
        FloatTolerance tolerance = new FloatTolerance(rtol, atol);
        assertThat(accepts(
                        tolerance,
                        response(
                                DataType.FP64,
                                Unpooled.buffer().writeDoubleLE(7).writeDoubleLE(first)),
                        response(
                                DataType.FP64,
                                Unpooled.buffer().writeDoubleLE(7).writeDoubleLE(second))))
                .isEqualTo(expected);
        assertThat(accepts(
                        tolerance,
                        response(
                                DataType.FP32, Unpooled.buffer().writeFloatLE(7).writeFloatLE((float) first)),
                        response(
                                DataType.FP32, Unpooled.buffer().writeFloatLE(7).writeFloatLE((float) second))))
                .isEqualTo(expected);
    }

    @ParameterizedTest
    @CsvSource({"FP16, 2", "BF16, 2"})
    void halfFloats_haveATolerance(DataType type, int size) {
        // The lowest bit of 1.0 in either datatype.
        int one = type == DataType.FP16 ? 0x3c00 : 0x3f80;
        assertThat(accepts(
                        new FloatTolerance(0.01, 0),
                        response(type, Unpooled.buffer(size).writeShortLE(one)),
                        response(type, Unpooled.buffer(size).writeShortLE(one + 1))))
                .isTrue();
        assertThat(accepts(
                        FloatTolerance.NONE,
                        response(type, Unpooled.buffer(size).writeShortLE(one)),
                        response(type, Unpooled.buffer(size).writeShortLE(one + 1))))
                .isFalse();
    }

    @ParameterizedTest
    @CsvSource({"BOOL", "UINT8", "INT8"})
    void otherDatatypes_mustBeEqual(DataType type) {
        assertThat(accepts(
                        new FloatTolerance(1, 1),
                        response(type, Unpooled.buffer().writeByte(0)),
                        response(type, Unpooled.buffer().writeByte(1))))
                .isFalse();
    }

    @Test
    void otherShape_isNeverAccepted() {
        assertThat(accepts(
                        new FloatTolerance(1e9, 1e9),
                        response(DataType.FP32, Unpooled.buffer().writeFloatLE(1)),
                        response(
                                DataType.FP32, Unpooled.buffer().writeFloatLE(1).writeFloatLE(1))))
                .isFalse();
    }
}
