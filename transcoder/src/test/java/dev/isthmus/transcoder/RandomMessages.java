package dev.isthmus.transcoder;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.Shape;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/** Random messages that every wire can represent, with many edge cases. */
final class RandomMessages {
    private static final int MAX_ELEMENTS = 64;
    private static final List<DataType> TYPES = List.of(DataType.values());
    private static final long[] LONGS = {
        0, 1, -1, Long.MIN_VALUE, Long.MAX_VALUE, (1L << 53) + 1, -(1L << 53) - 1, Integer.MIN_VALUE, 1L << 32
    };
    private static final double[] DOUBLES = {
        0.0,
        -0.0,
        0.5,
        1,
        -1e22,
        1e23,
        Double.MIN_VALUE,
        -Double.MIN_NORMAL,
        Double.MAX_VALUE,
        Math.PI,
        9007199254740994.0
    };
    private static final int[] CODE_POINTS = {
        0, '\b', '\t', '\n', '\f', '\r', 0x1f, '"', '\\', '/', 0x7f, 0x80, 0x7ff, 0x800, 0x2028, 0xd7ff, 0xe000, 0xfeff,
        0xfffd, 0xffff, 0x10000, 0x1f600, 0x10ffff
    };

    /** Bytes that are almost UTF-8: surrogates, overlong forms, beyond the last code point, truncated. */
    private static final String[] NEARLY_TEXT = {
        "\u00ed\u00a0\u0080", "\u00ed\u00bf\u00bf", "\u00c0\u0080", "\u00c1\u00bf", "\u00e0\u009f\u00bf",
        "\u00f0\u008f\u00bf\u00bf", "\u00f4\u0090\u0080\u0080", "\u00f5\u0080\u0080\u0080", "\u00e2\u0082",
                "\u00f0\u009f\u0098",
        "\u0080", "\u00ff", "\u00c3"
    };

    private final SplittableRandom random;

    RandomMessages(SplittableRandom random) {
        this.random = random;
    }

    Message next() {
        boolean request = random.nextBoolean();
        ModelRef model = new ModelRef(text(1, 12), random.nextBoolean() ? "" : text(1, 4));
        String id = random.nextInt(3) == 0 ? "" : text(1, random.nextInt(100) == 0 ? 3000 : 12);
        List<Message.Value> tensors = new ArrayList<>();
        for (String name : names(random.nextInt(request ? 1 : 0, 4))) {
            tensors.add(tensor(name));
        }
        List<Message.Wanted> outputs = new ArrayList<>();
        for (String name : names(request ? random.nextInt(3) : 0)) {
            outputs.add(new Message.Wanted(name, parameters()));
        }
        return new Message(request, model, id, parameters(), List.copyOf(tensors), List.copyOf(outputs));
    }

    private List<String> names(int count) {
        List<String> names = new ArrayList<>();
        while (names.size() < count) {
            String name = text(1, random.nextInt(20) == 0 ? 64 : 10);
            if (!names.contains(name)) {
                names.add(name);
            }
        }
        return names;
    }

    private String text(int min, int max) {
        int length = random.nextInt(min, max + 1);
        StringBuilder text = new StringBuilder();
        boolean plain = random.nextBoolean();
        for (int i = 0; i < length; i++) {
            text.appendCodePoint(plain ? random.nextInt(' ', 0x7f) : codePoint());
        }
        return text.toString();
    }

    private int codePoint() {
        int point = switch (random.nextInt(6)) {
            case 0 -> random.nextInt(0x80);
            case 1 -> random.nextInt(0x80, 0x800);
            case 2 -> random.nextInt(0x800, 0x10000);
            case 3 -> random.nextInt(0x10000, 0x110000);
            default -> CODE_POINTS[random.nextInt(CODE_POINTS.length)];
        };
        return point >= 0xd800 && point < 0xe000 ? 0xfffd : point;
    }

    private List<Map.Entry<String, Parameter>> parameters() {
        Map<String, Parameter> parameters = new LinkedHashMap<>();
        for (int count = Math.max(0, random.nextInt(-2, 4)); count > 0; count--) {
            parameters.put(text(0, 8), parameter());
        }
        if (random.nextInt(20) == 0) {
            parameters.put("content_type", new Parameter.Text("np"));
        }
        return parameters.entrySet().stream()
                .map(entry -> Map.entry(entry.getKey(), entry.getValue()))
                .toList();
    }

    private Parameter parameter() {
        return switch (random.nextInt(5)) {
            case 0 -> new Parameter.Bool(random.nextBoolean());
            case 1 ->
                new Parameter.Int64(random.nextBoolean() ? random.nextLong() : LONGS[random.nextInt(LONGS.length)]);
            case 2 ->
                new Parameter.Uint64(Long.MIN_VALUE | (random.nextBoolean() ? random.nextLong() : -random.nextLong(2)));
            case 3 -> new Parameter.Float64(finite());
            default -> new Parameter.Text(text(0, 20));
        };
    }

    private double finite() {
        double any = Double.longBitsToDouble(random.nextLong());
        return random.nextBoolean() || !Double.isFinite(any) ? DOUBLES[random.nextInt(DOUBLES.length)] : any;
    }

    private Message.Value tensor(String name) {
        DataType type = TYPES.get(random.nextInt(TYPES.size()));
        Shape shape = random.nextInt(100) == 0 ? Shape.of(random.nextInt(100, 1500)) : shape();
        int count = (int) shape.elementCount();
        ByteBuffer raw = type == DataType.BYTES ? bytes(count) : numbers(type, count);
        return new Message.Value(name, type, shape, parameters(), raw);
    }

    private Shape shape() {
        long[] extents = new long[random.nextInt(6)];
        int count = 1;
        for (int i = 0; i < extents.length; i++) {
            int extent = random.nextInt(25) == 0 ? 0 : random.nextInt(1, 7);
            extents[i] = extent * count > MAX_ELEMENTS ? 1 : extent;
            count *= (int) Math.max(extents[i], 1);
        }
        return Shape.of(extents);
    }

    private ByteBuffer numbers(DataType type, int count) {
        ByteBuffer raw = ByteBuffer.allocate(count * type.size()).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < count; i++) {
            switch (type.size()) {
                case 1 -> raw.put((byte) (type == DataType.BOOL ? random.nextInt(2) : bits(8)));
                case 2 -> raw.putShort((short) bits(16));
                case 4 -> raw.putInt((int) bits(32));
                default -> raw.putLong(bits(64));
            }
        }
        return raw.flip();
    }

    /** Random bits or edge cases: zeros, ones, infinities and their neighbours, for integers and floats. */
    private long bits(int size) {
        long any = random.nextLong();
        long sign = any << (size - 1);
        return switch (random.nextInt(8)) {
            case 0 -> sign;
            case 1 -> -1L >>> (64 - size) ^ sign;
            case 2 -> infinity(size) | sign;
            case 3 -> infinity(size) + random.nextInt(-2, 3) ^ sign;
            case 4 -> random.nextInt(1, 4) | sign;
            case 5 -> Double.doubleToLongBits(random.nextInt(1000)) >>> (64 - size);
            default -> any;
        };
    }

    private long infinity(int size) {
        return switch (size) {
            case 16 -> random.nextBoolean() ? 0x7c00 : 0x7f80;
            case 32 -> 0x7f80_0000L;
            default -> 0x7ff0_0000_0000_0000L;
        };
    }

    private ByteBuffer bytes(int count) {
        boolean texts = random.nextBoolean();
        List<byte[]> elements = new ArrayList<>();
        int size = 0;
        for (int i = 0; i < count; i++) {
            byte[] element = texts ? text(0, 12).getBytes(StandardCharsets.UTF_8) : anyBytes();
            elements.add(element);
            size += 4 + element.length;
        }
        ByteBuffer raw = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
        elements.forEach(element -> raw.putInt(element.length).put(element));
        return raw.flip();
    }

    private byte[] anyBytes() {
        if (random.nextBoolean()) {
            String nearly = NEARLY_TEXT[random.nextInt(NEARLY_TEXT.length)];
            return (random.nextBoolean() ? "a" + nearly : nearly + "a").getBytes(StandardCharsets.ISO_8859_1);
        }
        byte[] element = new byte[random.nextInt(12)];
        random.nextBytes(element);
        return element;
    }
}
