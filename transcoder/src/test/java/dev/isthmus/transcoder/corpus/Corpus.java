package dev.isthmus.transcoder.corpus;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.rest.OutputForms;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestRequest;
import dev.isthmus.transcoder.rest.RestRequestReader;
import dev.isthmus.transcoder.rest.RestWriter;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * Reads numbers from requests that are split at random, and writes them into responses. The value read must equal the
 * JDK's bit by bit; the text written must be the JDK's, or a shorter one that parses to the same value. For 16-bit
 * floats the reference is {@link HalfFloatReference}.
 */
public final class Corpus {
    private static final int BATCH = 1000;
    /** Limits that accept numbers of up to 200 characters. */
    private static final WireLimits LIMITS = new WireLimits(64L << 20, 64, 200, 256, 256, 1024, false);

    /** Kinds with many values in the range of 16-bit floats. */
    private static final List<NumberKind> NARROW = List.of(
            NumberKind.FLOAT_BITS,
            NumberKind.ACTIVATION,
            NumberKind.DECIMAL,
            NumberKind.HALF_PRECISION,
            NumberKind.FP16_HALF,
            NumberKind.BF16_HALF);

    private static final String DATA = "\"data\":[";

    private final SplittableRandom random;
    private long read;
    private long wrong;

    Corpus(long seed) {
        this.random = new SplittableRandom(seed);
    }

    /**
     * Arguments: millions of numbers (default 1) and a seed (default 1). Exits with status 1 if any number is wrong.
     */
    public static void main(String[] arguments) {
        long millions = arguments.length > 0 ? Long.parseLong(arguments[0]) : 1;
        Corpus corpus = new Corpus(arguments.length > 1 ? Long.parseLong(arguments[1]) : 1);
        corpus.run(millions * 1_000_000);
        System.out.printf("%,d numbers read and written, %d wrong%n", corpus.read, corpus.wrong);
        System.exit(corpus.wrong == 0 ? 0 : 1);
    }

    /** Checks this many numbers; one of nine is an integer. */
    void run(long numbers) {
        while (read < numbers) {
            for (NumberKind sample : NumberKind.values()) {
                batch(sample, DataType.FP32);
                batch(sample, DataType.FP64);
            }
            for (NumberKind sample : NARROW) {
                batch(sample, DataType.FP16);
                batch(sample, DataType.BF16);
            }
            for (DataType type : List.of(DataType.INT64, DataType.UINT64, DataType.INT32, DataType.UINT8)) {
                batch(NumberKind.DECIMAL, type);
            }
        }
    }

    long read() {
        return read;
    }

    long wrong() {
        return wrong;
    }

    private void batch(NumberKind sample, DataType type) {
        String[] texts = new String[BATCH];
        ByteBuf expected = Unpooled.buffer(BATCH * type.size());
        for (int i = 0; i < BATCH; i++) {
            texts[i] = text(sample, type);
            append(type, texts[i], expected);
        }
        RestRequest request = request(type, texts);
        Tensor tensor = request.request().inputs().getFirst();
        for (int i = 0; i < BATCH; i++) {
            int at = i * type.size();
            int size = type.size();
            if (!tensor.data().slice(at, size).equals(expected.slice(at, size))) {
                complain(type + " " + texts[i] + " is not read as the JDK reads it");
            }
        }
        String[] written = answer(tensor);
        for (int i = 0; i < BATCH; i++) {
            if (!isText(type, written[i], expected, i * type.size())) {
                complain(type + " " + texts[i] + " is written as " + written[i]);
            }
        }
        request.request().release();
        read += BATCH;
    }

    private void complain(String what) {
        wrong++;
        System.out.println(what);
    }

    private String text(NumberKind sample, DataType type) {
        long bits = random.nextLong() >> random.nextInt(64);
        return switch (type) {
            case FP16, BF16, FP32, FP64 -> real(sample, type);
            case INT64 -> Long.toString(bits);
            case UINT64 -> Long.toUnsignedString(bits);
            case INT32 -> Integer.toString((int) bits);
            default -> Integer.toString((int) bits & 0xff);
        };
    }

    private String real(NumberKind sample, DataType type) {
        String text;
        do {
            text = sample.next(random);
        } while (!isFinite(type, text));
        return text;
    }

    private static boolean isFinite(DataType type, String text) {
        return switch (type) {
            case FP16, BF16 -> HalfFloatReference.of(type).isFinite(text);
            case FP32 -> Float.isFinite(Float.parseFloat(text));
            default -> Double.isFinite(Double.parseDouble(text));
        };
    }

    private static void append(DataType type, String text, ByteBuf to) {
        switch (type) {
            case FP16, BF16 -> to.writeShortLE(HalfFloatReference.of(type).read(text));
            case FP32 -> to.writeFloatLE(Float.parseFloat(text));
            case FP64 -> to.writeDoubleLE(Double.parseDouble(text));
            case INT64 -> to.writeLongLE(Long.parseLong(text));
            case UINT64 -> to.writeLongLE(Long.parseUnsignedLong(text));
            case INT32 -> to.writeIntLE(Integer.parseInt(text));
            default -> to.writeByte(Integer.parseInt(text));
        }
    }

    private RestRequest request(DataType type, String[] texts) {
        ByteBuf body = Unpooled.copiedBuffer(
                "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"" + type + "\",\"shape\":[" + BATCH + "]," + DATA
                        + String.join(random.nextBoolean() ? "," : ", ", texts) + "]}]}",
                StandardCharsets.US_ASCII);
        RestRequestReader reader =
                new RestRequestReader(ByteBufAllocator.DEFAULT, ModelRef.of("m"), RestBody.ALL_JSON, false, LIMITS);
        while (body.isReadable()) {
            int part = Math.min(body.readableBytes(), 1 + random.nextInt(20_000));
            reader.feed(body.readSlice(part));
        }
        return reader.finish();
    }

    private static String[] answer(Tensor tensor) {
        InferResponse response = new InferResponse(ModelRef.of("m"), "", Map.of(), List.of(tensor.retained()));
        ByteBuf content = RestWriter.response(ByteBufAllocator.DEFAULT, response, OutputForms.JSON)
                .content();
        String json = content.toString(StandardCharsets.US_ASCII);
        content.release();
        int from = json.indexOf(DATA) + DATA.length();
        return json.substring(from, json.indexOf(']', from)).split(",", -1);
    }

    private static boolean isText(DataType type, String text, ByteBuf raw, int at) {
        return switch (type) {
            case FP16, BF16 -> text.equals(HalfFloatReference.of(type).text(raw.getShortLE(at)));
            case FP32 -> {
                float value = raw.getFloatLE(at);
                yield text.equals(Float.toString(value))
                        || (Float.parseFloat(text) == value && shorter(text, Float.toString(value)));
            }
            case FP64 -> {
                double value = raw.getDoubleLE(at);
                yield text.equals(Double.toString(value))
                        || (Double.parseDouble(text) == value && shorter(text, Double.toString(value)));
            }
            case INT64 -> text.equals(Long.toString(raw.getLongLE(at)));
            case UINT64 -> text.equals(Long.toUnsignedString(raw.getLongLE(at)));
            case INT32 -> text.equals(Integer.toString(raw.getIntLE(at)));
            default -> text.equals(Integer.toString(raw.getUnsignedByte(at)));
        };
    }

    /** Whether the text is shorter: the JDK writes two digits for some of the smallest numbers, though one would do. */
    private static boolean shorter(String text, String platform) {
        return digits(text) < digits(platform);
    }

    private static int digits(String text) {
        return new BigDecimal(text).stripTrailingZeros().precision();
    }
}
