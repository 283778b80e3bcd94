package dev.isthmus.transcoder.rest;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Tensor;
import dev.isthmus.testing.Samples;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.FieldSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests whose numbers are skimmed, compared with the same ones read in full. */
class SkimmedRequestTest {
    private static final ByteBufAllocator ALLOCATOR = ByteBufAllocator.DEFAULT;
    private static final ModelRef MODEL = ModelRef.of("m");
    /** Numbers that may be out of range, and negative zeros that look like integers. */
    private static final Pattern LEFT = Pattern.compile("[0-9][eE][^-]|-0[^.0-9eE]");

    static final List<Samples> SAMPLES = Samples.ALL;

    private static RestRequestReader skimming(WireLimits limits) {
        return RestRequestReader.skimming(ALLOCATOR, MODEL, false, limits);
    }

    private static RestRequestReader full(WireLimits limits) {
        return new RestRequestReader(ALLOCATOR, MODEL, RestBody.ALL_JSON, false, limits);
    }

    /** The request read from a text in parts; null if it is rejected. */
    private static @Nullable RestRequest read(RestRequestReader reader, String text, int... cuts) {
        byte[] body = text.getBytes(UTF_8);
        try {
            int from = 0;
            for (int i = 0; i <= cuts.length; i++) {
                int to = i < cuts.length ? cuts[i] : body.length;
                reader.feed(Unpooled.wrappedBuffer(body, from, to - from));
                from = to;
            }
            assertThat(reader.held()).isLessThan(10_000);
            return reader.finish();
        } catch (OipException refused) {
            return null;
        } finally {
            reader.release();
        }
    }

    private static boolean skims(String text, int... cuts) {
        return took(read(skimming(WireLimits.DEFAULT), text, cuts));
    }

    private static boolean reads(String text) {
        return took(read(full(WireLimits.DEFAULT), text));
    }

    private static boolean took(@Nullable RestRequest read) {
        if (read != null) {
            read.request().release();
        }
        return read != null;
    }

    private static String request(DataType type, String shape, String data) {
        return "{\"id\":\"7\",\"inputs\":[{\"name\":\"x\",\"shape\":" + shape + ",\"datatype\":\"" + type
                + "\",\"data\":" + data + "}],\"parameters\":{\"a\":1}}";
    }

    private static void assertLike(@Nullable RestRequest skimmed, @Nullable RestRequest full) {
        if (skimmed == null || full == null) {
            throw new AssertionError("refused");
        }
        InferRequest mine = skimmed.request();
        InferRequest whole = full.request();
        try {
            assertThat(mine.id()).isEqualTo(whole.id());
            assertThat(mine.parameters()).isEqualTo(whole.parameters());
            assertThat(mine.outputs()).isEqualTo(whole.outputs());
            assertThat(skimmed.outputForms()).isEqualTo(full.outputForms());
            for (int i = 0; i < whole.inputs().size(); i++) {
                assertLike(mine.inputs().get(i), whole.inputs().get(i));
            }
        } finally {
            mine.release();
            whole.release();
        }
    }

    private static void assertLike(Tensor skimmed, Tensor full) {
        assertThat(skimmed.name()).isEqualTo(full.name());
        assertThat(skimmed.shape()).isEqualTo(full.shape());
        assertThat(skimmed.dataType()).isEqualTo(full.dataType());
        assertThat(skimmed.parameters()).isEqualTo(full.parameters());
        if (!ElementCounter.skims(full.dataType())) {
            assertThat(ByteBufUtil.equals(skimmed.data(), full.data())).isTrue();
        }
    }

    @ParameterizedTest
    @FieldSource("SAMPLES")
    void request_cutAnywhere_saysTheSame(Samples sample) {
        for (String values : List.of("[" + sample.json() + "]", sample.nested())) {
            // Positive exponents are read in full.
            String data = values.replaceAll("[eE]\\+?(?=[0-9])", "e-");
            String text = request(sample.type(), "[2,3]", data) + " ";
            for (int cut = 0; cut <= text.length(); cut++) {
                assertLike(read(skimming(WireLimits.DEFAULT), text, cut), read(full(WireLimits.DEFAULT), text));
            }
            int[] everywhere = new int[text.length()];
            Arrays.setAll(everywhere, i -> i);
            assertLike(read(skimming(WireLimits.DEFAULT), text, everywhere), read(full(WireLimits.DEFAULT), text));
        }
    }

    /** Wherever a document ends, and however many are read at once: each is read as if it were the only one. */
    @Test
    void documentsOfOneThread_shareNothing() {
        String nested = request(DataType.FP32, "[1,2,2]", "[[[1,2],[3,4]]]");
        String flat = request(DataType.FP64, "[3]", "[5,6,7]");
        for (int cut = 0; cut < nested.length(); cut++) {
            RestRequestReader ended = skimming(WireLimits.DEFAULT);
            ended.feed(Unpooled.copiedBuffer(nested.substring(0, cut), UTF_8));
            RestRequestReader open = full(WireLimits.DEFAULT);
            open.feed(Unpooled.copiedBuffer(flat.substring(0, cut % flat.length()), UTF_8));
            ended.release();
            ended.release();
            assertLike(read(skimming(WireLimits.DEFAULT), nested), read(full(WireLimits.DEFAULT), nested));
            open.feed(Unpooled.copiedBuffer(flat.substring(cut % flat.length()), UTF_8));
            assertLike(open.finish(), read(full(WireLimits.DEFAULT), flat));
            open.release();
        }
    }

    @ParameterizedTest
    @FieldSource("SAMPLES")
    void dataBeforeDatatype_isRead(Samples sample) {
        String text = "{\"inputs\":[{\"data\":[" + sample.json() + "],\"datatype\":\"" + sample.type()
                + "\",\"shape\":[6],\"name\":\"x\"}]}";
        assertLike(read(skimming(WireLimits.DEFAULT), text), read(full(WireLimits.DEFAULT), text));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            [12]      | [1,2,3,4,5,6,7,8,9,10,11,12]
            [12]      | [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
            [12]      | [ 1 ,2 , 3,4   ,  5,6,7,8,9,10,11,12 ]
            [3,4]     | [[1,2,3,4],[5,6,7,8],[9,10,11,12]]
            [3,4]     | [ [ 1 , 2,3,4 ] , [5,6,7,8],   [9,10,11,12]]
            [2,3,2]   | [[[1,2],[3,4],[5,6]],[[7,8],[9,10],[11,12]]]
            [12,1]    | [[1],[2],[3],[4],[5],[6],[7],[8],[9],[10],[11],[12]]
            [0]       | []
            [0]       | [         ]
            [2,0]     | [[],[]]
            [0,5]     | []
            []        | [1]
            """)
    void arrays_cutAnywhere_areTaken(String shape, String data) {
        for (DataType type : List.of(DataType.FP32, DataType.INT64)) {
            String text = request(type, shape, data);
            assertThat(reads(text)).isTrue();
            for (int cut = 0; cut <= text.length(); cut++) {
                assertThat(skims(text, cut)).as("%s cut at %s", text, cut).isTrue();
            }
            String lines = text.replace(" ", "\n\t\r");
            assertThat(skims(lines)).isEqualTo(reads(lines)).isTrue();
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            [3]   | [1,2]
            [3]   | [1,2,3,4]
            [3]   | []
            [2,2] | [[1,2],[3]]
            [2,2] | [[1,2],[3,4],[5,6]]
            [2,2] | [[1,2,3,4]]
            [2,2] | [[1,2],[3,4]
            [2,2] | [[1,2],[3,4]]]
            [4]   | [[1,2],[3,4]]
            [2]   | [1,[2]]
            [2]   | [[1],2]
            [2]   | [1,2,]
            [2]   | [,1,2]
            [2]   | [1,,2]
            [2]   | [1 2]
            [12]  | [1,2,3,4,5,6,7,8,9,10,11 12]
            [12]  | [1,2,3,4,5,6,7,8,9,10 ,, 12]
            [12]  | [1,2,3,4,5,6,7,8,9,10,11,12,]
            [2]   | [1][2]
            [2]   | [[1][2]]
            [2]   | [1,2
            [2]   | [1,2}
            [1]   | 1
            [1]   | {}
            [1]   | null
            [-1]  | [1]
            [2,9223372036854775807] | [1]
            """)
    void whatIsNoArrayOfTheShape_isRefused(String shape, String data) {
        for (DataType type : List.of(DataType.FP32, DataType.UINT8)) {
            String text = request(type, shape, data);
            assertThat(reads(text)).isFalse();
            for (int cut = 0; cut <= text.length(); cut++) {
                assertThat(skims(text, cut)).as("%s cut at %s", text, cut).isFalse();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"NaN", "-Infinity", "null", "true", "\"1\"", "\"NaN\"", "{}", "1/2", "1:2", "0x1", "\u00e9", "\0"
            })
    void anythingButNumbers_isRefused(String element) {
        for (int before = 0; before < 20; before++) {
            String data = "[" + "0,".repeat(before) + element + ",1,2,3,4]";
            for (DataType type : List.of(DataType.FP64, DataType.INT32)) {
                assertThat(skims(request(type, "[" + (before + 5) + "]", data)))
                        .as(data)
                        .isFalse();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"128", "-129", "1.5", "01", "-", "1-1"})
    void numbersOfIntegers_areRead(String element) {
        String data = "[0,0,0," + element + ",1,2,3,4]";
        assertThat(skims(request(DataType.INT8, "[8]", data))).isFalse();
        assertThat(skims(request(DataType.INT8, "[8]", data.replace(element, "127"))))
                .isTrue();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "1.",
                ".5",
                "+1",
                "1-1",
                "1-2",
                "e-",
                "--1",
                "01",
                "-01",
                "00",
                "00.5",
                "1E-",
                "-",
                "-.5",
                "-e-1",
                "1.2.3",
                "1..2",
                "1.-2",
                "1e-1.5",
                "1e-1e-1",
                "1e-1-1",
                "1.e-1",
                "0.5.",
                "12345678.12345678.1",
                "-0"
            })
    void floatsOutsideTheGrammar_areRefusedWhereverTheyStand(String element) {
        for (DataType type : List.of(DataType.FP32, DataType.FP64)) {
            for (int before = 0; before < 17; before++) {
                for (String behind : List.of(",1,2,3,4]", "]", " ,1.5]", "\n]")) {
                    int count = before
                            + 1
                            + (int) behind.chars().filter(c -> c == ',').count();
                    String data = "[" + "0".repeat(before == 0 ? 0 : 1) + ",0".repeat(Math.max(0, before - 1))
                            + (before == 0 ? "" : before % 3 == 0 ? ", " : ",") + element + behind;
                    String text = request(type, "[" + count + "]", data);
                    assertThat(skims(text)).as(data).isFalse();
                    assertThat(reads(text)).as(data).isEqualTo(element.equals("-0"));
                    String tame = request(type, "[" + count + "]", data.replace(element, "7"));
                    assertThat(skims(tame)).as(tame).isTrue();
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"0", "-0.0", "0.0", "-0.5", "-0e-1", "0E-1", "1e-05", "-1.5E-30", "1e-999", "10", "-100.001"})
    void floatsOfTheGrammar_areTakenWhereverTheyStand(String element) {
        for (int before = 0; before < 17; before++) {
            String data = "[" + "0,".repeat(before) + element + "," + element + ", 7 ," + element + "]";
            String text = request(DataType.FP32, "[" + (before + 4) + "]", data);
            for (int cut = text.indexOf("data"); cut < text.length(); cut++) {
                assertThat(skims(text, cut)).as(data).isTrue();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"1e39", "1E+5", "1e", "e", "1e5-", "2e "})
    void floatsThatMayBeBeyondTheRange_areRead(String element) {
        for (int before = 0; before < 20; before++) {
            String text =
                    request(DataType.FP32, "[" + (before + 5) + "]", "[" + "0,".repeat(before) + element + ",1,2,3,4]");
            for (int cut = text.indexOf("data"); cut < text.length(); cut++) {
                assertThat(skims(text, cut)).as(text).isFalse();
            }
        }
    }

    @Test
    void numbersLongerThanTheLimit_areRefused() {
        for (int length = 1; length < 200; length++) {
            for (int before = 0; before < 9; before++) {
                String data = "[" + "0" + ".".repeat(before == 0 ? 0 : 1) + "0".repeat(before) + ","
                        + "1".repeat(length) + ",2]";
                String text = request(DataType.FP64, "[3]", data);
                boolean skimmed = skims(text);
                assertThat(skimmed).as(data).isEqualTo(length < 24 || (skimmed && length <= 38));
                for (int cut = text.indexOf("data"); cut < text.length(); cut += 3) {
                    assertThat(length > 38 && skims(text, cut)).as(data).isFalse();
                }
            }
        }
    }

    @Test
    void rawFormLongerThanTheLimit_isRefused() {
        WireLimits limits = WireLimits.DEFAULT.withBodyBytes(799);
        String hundred = request(DataType.FP64, "[100]", "[1" + ",1".repeat(99) + "]");
        assertThat(took(read(full(limits), hundred))).isFalse();
        assertThat(took(read(skimming(limits), hundred))).isFalse();
        assertThat(took(read(skimming(limits.withBodyBytes(800)), hundred))).isTrue();
    }

    @Test
    void arraysDeeperThanTheLimit_areRefused() {
        for (int depth = 1; depth < 20; depth++) {
            String shape = "[" + "1,".repeat(depth - 1) + "1]";
            String text = request(DataType.FP32, shape, "[".repeat(depth) + 1 + "]".repeat(depth));
            for (int max = 3; max < 20; max++) {
                WireLimits limits = new WireLimits(1000, max, 64, 100, 10, 10, false);
                assertThat(took(read(skimming(limits), text)))
                        .isEqualTo(took(read(full(limits), text)))
                        .isEqualTo(depth <= 16 && depth + 3 <= max);
            }
        }
    }

    @Test
    void severalTensors_areEachReadAsTheyAre() {
        String text = "{\"inputs\":[{\"name\":\"a\",\"shape\":[2],\"datatype\":\"FP32\",\"data\":[1,2]},"
                + "{\"name\":\"b\",\"shape\":[1],\"datatype\":\"BYTES\",\"data\":[\"[1,2\"]},"
                + "{\"name\":\"c\",\"shape\":[2],\"datatype\":\"BOOL\",\"data\":[true,false]},"
                + "{\"name\":\"d\",\"shape\":[2,1],\"datatype\":\"UINT8\",\"data\":[[1],[2]]}],"
                + "\"outputs\":[{\"name\":\"o\",\"parameters\":{\"binary_data\":false}}]}";
        for (int cut = 0; cut <= text.length(); cut++) {
            assertLike(read(skimming(WireLimits.DEFAULT), text, cut), read(full(WireLimits.DEFAULT), text));
        }
    }

    @Test
    void whatIsReadDifferently_isStillToldOf() {
        RestRequestReader reader = skimming(WireLimits.DEFAULT);
        reader.feed(Unpooled.copiedBuffer(request(DataType.FP16, "[2]", "[1,2]"), UTF_8));
        RestRequest halves = reader.finish();
        assertThat(halves.contestedInputs()).isTrue();
        halves.request().release();
    }

    /** The last comma or bracket that was received may be far before the end of what was received. */
    @Test
    void data_isSkimmedWhateverFollows() {
        String numbers = request(DataType.FP32, "[2,2]", "[[1,2],[3,4]]");
        for (String behind : List.of("\"" + "x".repeat(1_000) + "\"", " ".repeat(1_000) + "1")) {
            String text = numbers.replace("\"a\":1", "\"a\":" + behind);
            for (int cut = 0; cut <= text.length(); cut++) {
                assertThat(skims(text, cut)).as("cut at %s", cut).isTrue();
            }
        }
    }

    /** Random text of these characters, in place of numbers or between them. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void whateverIsTaken_isReadInFull(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        String marks = "[],-+.0123456789eE \n\t/x:,,[]";
        int taken = 0;
        for (int round = 0; round < 20_000; round++) {
            StringBuilder data = new StringBuilder(valid(random));
            for (int change = random.nextInt(3); change > 0; change--) {
                int at = 1 + random.nextInt(data.length() - 1);
                char mark = marks.charAt(random.nextInt(marks.length()));
                switch (random.nextInt(3)) {
                    case 0 -> data.setCharAt(at, mark);
                    case 1 -> data.insert(at, mark);
                    default -> data.deleteCharAt(at - 1);
                }
            }
            String text = request(DataType.FP32, "[2,3]", data.toString());
            int cut = random.nextInt(text.length());
            boolean skimmed = skims(text, cut);
            if (skimmed) {
                taken++;
                assertThat(reads(text)).as(text).isTrue();
            } else {
                assertThat(reads(text) && !LEFT.matcher(text).find()).as(text).isFalse();
            }
        }
        assertThat(taken).isGreaterThan(5_000);
    }

    private static String valid(SplittableRandom random) {
        StringBuilder data = new StringBuilder();
        boolean nested = random.nextBoolean();
        String space = " ".repeat(random.nextInt(3));
        for (int i = 0; i < 6; i++) {
            data.append(i == 0 ? nested ? "[[" : "[" : nested && i == 3 ? "]," + space + "[" : "," + space);
            int integer = random.nextInt(2000) - 1000;
            data.append(random.nextInt(3) > 0 ? String.valueOf(random.nextDouble() * integer) : integer);
        }
        return data.append(nested ? "]]" : "]").toString();
    }

    @Test
    void parts_ofAnySize_giveTheSameCount() {
        SplittableRandom random = new SplittableRandom(5);
        for (int round = 0; round < 200; round++) {
            int count = 1 + random.nextInt(5000);
            String separator = List.of(",", ", ", ",\n", " , ").get(random.nextInt(4));
            StringBuilder data = new StringBuilder("[");
            for (int i = 0; i < count; i++) {
                data.append(i == 0 ? "" : separator).append(random.nextInt(1 << random.nextInt(1, 31)));
            }
            String right = request(DataType.FP64, "[" + count + "]", data + "]");
            String wrong = request(DataType.FP64, "[" + (count + 1) + "]", data + "]");
            int[] cuts = random.ints(10, 0, right.length()).sorted().toArray();
            assertThat(skims(right, cuts)).isTrue();
            assertThat(skims(wrong, cuts)).isFalse();
        }
    }

    @Test
    void tensorOfMegabytes_holdsNothing() {
        RestRequestReader reader = skimming(WireLimits.DEFAULT);
        String text = request(DataType.FP32, "[1000000]", "[0.5" + ",0.48627451".repeat(999_999) + "]");
        ByteBuf body = Unpooled.wrappedBuffer(text.getBytes(UTF_8));
        reader.feed(body.readSlice(text.length() - 3));
        assertThat(reader.held()).isZero();
        assertThat(reader.complete()).isFalse();
        reader.feed(body);
        assertThat(reader.complete()).isTrue();
        reader.finish().request().release();
    }
}
