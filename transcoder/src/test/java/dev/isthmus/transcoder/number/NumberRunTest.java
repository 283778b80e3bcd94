package dev.isthmus.transcoder.number;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.oip.DataType;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class NumberRunTest {
    private final SplittableRandom random = new SplittableRandom(11);

    /** The values that a run reads from a text, which more text follows. */
    private static List<Object> read(DataType type, String text) {
        byte[] window = (text + "5".repeat(NumberRun.PADDING)).getBytes(US_ASCII);
        ByteBuf raw = Unpooled.buffer();
        NumberRun run = new NumberRun(type, Long.MAX_VALUE);
        int count = run.read(window, 0, text.length(), raw);
        assertThat(raw.readableBytes()).isEqualTo(count * type.size());
        List<Object> values = new ArrayList<>();
        while (raw.isReadable()) {
            values.add(
                    switch (type) {
                        case FP32 -> raw.readFloatLE();
                        case FP64 -> raw.readDoubleLE();
                        case INT8 -> (long) raw.readByte();
                        case UINT8 -> (long) raw.readUnsignedByte();
                        case INT16 -> (long) raw.readShortLE();
                        case UINT16 -> (long) raw.readUnsignedShortLE();
                        case INT32 -> (long) raw.readIntLE();
                        case UINT32 -> raw.readUnsignedIntLE();
                        default -> raw.readLongLE();
                    });
        }
        return values;
    }

    private String texts(Supplier<String> number, List<String> texts) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 500; i++) {
            String next = number.get();
            texts.add(next);
            text.append(random.nextInt(4) == 0 ? ", " : ",").append(next);
        }
        return text.append(']').toString();
    }

    private String number() {
        return switch (random.nextInt(8)) {
            case 0 -> Float.toString((float) random.nextDouble(-1, 1)).replace('E', 'e');
            case 1 -> Double.toString(random.nextDouble(-1e3, 1e3));
            case 2 -> Integer.toString(1 + random.nextInt(300));
            case 3 -> Long.toString(random.nextLong(1_000_000_000_000_000_000L));
            case 4 -> random.nextInt(1, 100) + "e" + random.nextInt(-20, 20);
            case 5 -> "0." + "0".repeat(random.nextInt(8)) + random.nextInt(1, 1_000_000);
            case 6 -> -random.nextInt(1, 1000) + "." + random.nextInt(1_000_000) + "E+0" + random.nextInt(10);
            default -> random.nextInt(1, 100_000_000) + "." + random.nextInt(100_000_000);
        };
    }

    @Test
    void floats_ofAllForms_areTheNearest() {
        int total = 0;
        for (int round = 0; round < 200; round++) {
            List<String> texts = new ArrayList<>();
            List<Object> values = read(DataType.FP32, texts(this::number, texts));
            for (int i = 0; i < values.size(); i++) {
                assertThat(values.get(i)).as(texts.get(i)).isEqualTo(Float.parseFloat(texts.get(i)));
            }
            total += values.size();
        }
        // Some end early at a number halfway between two floats, which is left to the tokenizer.
        assertThat(total).isGreaterThan(50_000);
    }

    @Test
    void doubles_ofAllForms_areTheNearest() {
        for (int round = 0; round < 200; round++) {
            List<String> texts = new ArrayList<>();
            List<Object> values = read(DataType.FP64, texts(this::number, texts));
            for (int i = 0; i < values.size(); i++) {
                assertThat(values.get(i)).as(texts.get(i)).isEqualTo(Double.parseDouble(texts.get(i)));
            }
            assertThat(values).hasSize(500);
        }
    }

    @Test
    void integers_ofEveryType_keepTheirRange() {
        long[] edges = {
            0,
            1,
            9,
            10,
            127,
            128,
            255,
            256,
            32_767,
            32_768,
            65_535,
            65_536,
            99_999_999,
            100_000_000,
            Integer.MAX_VALUE,
            1L << 31,
            0xffff_ffffL,
            1L << 32,
            999_999_999_999_999_999L
        };
        for (DataType type : DataType.values()) {
            if (!NumberRun.takes(type) || type == DataType.FP32 || type == DataType.FP64) {
                continue;
            }
            boolean signed = type.name().startsWith("INT");
            int bits = 8 * type.size();
            long max = signed ? (1L << (bits - 1)) - 1 : bits == 64 ? Long.MAX_VALUE : (1L << bits) - 1;
            for (long edge : edges) {
                assertThat(read(type, "," + edge + ",1]")).isEqualTo(edge <= max ? List.of(edge, 1L) : List.of());
                assertThat(read(type, ",-" + edge + "]")).isEqualTo(signed && edge <= max ? List.of(-edge) : List.of());
            }
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "01",
                "-01",
                "00",
                "1.",
                ".5",
                "+1",
                "1e",
                "1e+",
                "1.e1",
                "-",
                "--1",
                "1-",
                "0x1",
                "1_0",
                "1.5.",
                "NaN",
                "null",
                "true",
                "\"1\"",
                "[1",
                "",
                "1a",
                "1.0f",
                "1e5.",
                "12345678a",
                "1234567890123456789",
                "0.1234567890123456789",
                "-0",
                "1e99999",
                "1\u00002",
                "1/",
                "1:",
                "1;"
            })
    void whatIsNotPlain_isLeft(String token) {
        assertThat(read(DataType.FP32, ",1," + token + ",2]")).isEqualTo(List.of(1f));
    }

    @ParameterizedTest
    @ValueSource(strings = {"1.0", "1e2", "01", "-", "+1", "1234567890123456789", "1.", "true"})
    void integerThatIsNotPlain_isLeft(String token) {
        assertThat(read(DataType.INT64, ",1," + token + ",2]")).isEqualTo(List.of(1L));
    }

    @ParameterizedTest
    @ValueSource(strings = {" ", ",", "-", "0", ".", "e", "x"})
    void numberThatIsNotComplete_isLeft(String behind) {
        byte[] window = ",1,2,3,4".concat(behind.repeat(NumberRun.PADDING)).getBytes(US_ASCII);
        for (DataType type : new DataType[] {DataType.UINT8, DataType.INT32, DataType.FP32, DataType.FP64}) {
            for (int end = 1; end <= 8; end++) {
                ByteBuf raw = Unpooled.buffer();
                NumberRun run = new NumberRun(type, Long.MAX_VALUE);
                assertThat(run.read(window, 0, end, raw)).isEqualTo((end - 1) / 2);
                assertThat(run.position()).isEqualTo((end - 1) / 2 * 2);
            }
        }
    }

    @Test
    void longestNumber_readsNothingBehindThePadding() {
        String zeros = "0".repeat(16) + "1".repeat(18);
        for (String text :
                new String[] {",-0." + zeros, ",-0." + zeros + "e-1234", "," + "1".repeat(40), ",0.", ",1e", ","}) {
            for (String behind : new String[] {"1", "0"}) {
                byte[] window = (text + behind.repeat(NumberRun.PADDING)).getBytes(US_ASCII);
                for (int end = 1; end <= text.length(); end++) {
                    NumberRun run = new NumberRun(DataType.FP64, Long.MAX_VALUE);
                    assertThat(run.read(window, 0, end, Unpooled.buffer())).isZero();
                }
            }
        }
    }

    @Test
    void run_readsNoMoreThanWasExpected() {
        byte[] window = (",1,2,3,4]" + "5".repeat(NumberRun.PADDING)).getBytes(US_ASCII);
        NumberRun run = new NumberRun(DataType.FP32, 3);
        assertThat(run.read(window, 0, 9, Unpooled.buffer())).isEqualTo(3);
        assertThat(run.read(window, run.position(), 9, Unpooled.buffer())).isEqualTo(1);
    }
}
