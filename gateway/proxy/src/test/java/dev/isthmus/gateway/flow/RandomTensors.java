package dev.isthmus.gateway.flow;

import com.google.protobuf.ByteString;
import dev.isthmus.proto.InferTensorContents;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferRequest.InferInputTensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;

/** One random request in all forms of clients: JSON, binary data, raw and typed contents. */
record RandomTensors(List<RandomInput> inputs) {
    private static final List<String> TYPES = List.of(
            "BOOL", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64", "FP32", "FP64", "BYTES");

    /** An input with its elements, as numbers, booleans and texts. */
    record RandomInput(String name, String datatype, List<Object> elements) {
        private String head() {
            return "{\"name\":\"" + name + "\",\"datatype\":\"" + datatype + "\",\"shape\":[1," + elements.size() + "]";
        }

        private String json() {
            return head() + ",\"data\":"
                    + elements.stream().map(RandomInput::text).collect(Collectors.joining(",", "[", "]")) + "}";
        }

        private static String text(Object element) {
            return switch (element) {
                case String text -> "\"" + text + "\"";
                case UnsignedLong number -> Long.toUnsignedString(number.bits());
                case SizedNumber number -> Long.toString(number.value());
                default -> element.toString();
            };
        }

        private byte[] raw() {
            ByteBuffer raw = ByteBuffer.allocate(elements.size() * 64).order(ByteOrder.LITTLE_ENDIAN);
            for (Object element : elements) {
                switch (element) {
                    case Boolean flag -> raw.put((byte) (flag ? 1 : 0));
                    case Short number -> raw.put(number.byteValue());
                    case Integer number -> raw.putInt(number);
                    case Long number -> raw.putLong(number);
                    case UnsignedLong number -> raw.putLong(number.bits());
                    case SizedNumber number -> number.write(raw);
                    case Float number -> raw.putFloat(number);
                    case Double number -> raw.putDouble(number);
                    default -> {
                        byte[] text = element.toString().getBytes(StandardCharsets.UTF_8);
                        raw.putInt(text.length).put(text);
                    }
                }
            }
            byte[] bytes = new byte[raw.flip().remaining()];
            raw.get(bytes);
            return bytes;
        }

        private InferInputTensor.Builder tensor() {
            return InferInputTensor.newBuilder()
                    .setName(name)
                    .setDatatype(datatype)
                    .addShape(1)
                    .addShape(elements.size());
        }

        private InferTensorContents contents() {
            InferTensorContents.Builder contents = InferTensorContents.newBuilder();
            for (Object element : elements) {
                switch (element) {
                    case Boolean flag -> contents.addBoolContents(flag);
                    case Short number -> contents.addUintContents(number);
                    case Integer number -> contents.addIntContents(number);
                    case Long number -> contents.addInt64Contents(number);
                    case UnsignedLong number -> contents.addUint64Contents(number.bits());
                    case SizedNumber(long value, int size, boolean signed)
                    when signed -> contents.addIntContents((int) value);
                    case SizedNumber number -> contents.addUintContents((int) number.value());
                    case Float number -> contents.addFp32Contents(number);
                    case Double number -> contents.addFp64Contents(number);
                    default -> contents.addBytesContents(ByteString.copyFromUtf8(element.toString()));
                }
            }
            return contents.build();
        }
    }

    /** A number of 64 bits without a sign. */
    private record UnsignedLong(long bits) {}

    /** A number of less than 64 bits, with its size in bytes. */
    private record SizedNumber(long value, int size, boolean signed) {
        static SizedNumber random(Random random, int size, boolean signed) {
            long bits = random.nextLong();
            int unused = Long.SIZE - size * Byte.SIZE;
            return new SizedNumber(signed ? bits >> unused : bits >>> unused, size, signed);
        }

        void write(ByteBuffer out) {
            switch (size) {
                case 1 -> out.put((byte) value);
                case 2 -> out.putShort((short) value);
                default -> out.putInt((int) value);
            }
        }
    }

    static RandomTensors of(Random random) {
        List<RandomInput> inputs = new ArrayList<>();
        int count = 1 + random.nextInt(3);
        for (int i = 0; i < count; i++) {
            String type = TYPES.get(random.nextInt(TYPES.size()));
            List<Object> elements = new ArrayList<>();
            int length = 1 + random.nextInt(random.nextInt(10) == 0 ? 2000 : 5);
            for (int j = 0; j < length; j++) {
                elements.add(element(type, random));
            }
            inputs.add(new RandomInput("in" + i, type, elements));
        }
        return new RandomTensors(inputs);
    }

    /** Other elements of the same datatypes and shapes. */
    RandomTensors others(Random random) {
        return new RandomTensors(inputs.stream()
                .map(input -> new RandomInput(
                        input.name(),
                        input.datatype(),
                        input.elements().stream()
                                .map(each -> element(input.datatype(), random))
                                .toList()))
                .toList());
    }

    private static Object element(String type, Random random) {
        return switch (type) {
            case "BOOL" -> random.nextBoolean();
            case "UINT8" -> (short) random.nextInt(256);
            case "INT8" -> SizedNumber.random(random, 1, true);
            case "INT16" -> SizedNumber.random(random, 2, true);
            case "UINT16" -> SizedNumber.random(random, 2, false);
            case "UINT32" -> SizedNumber.random(random, 4, false);
            case "INT32" -> random.nextInt();
            case "INT64" -> random.nextLong();
            case "UINT64" -> new UnsignedLong(random.nextLong());
            case "FP32" -> finite(Float.intBitsToFloat(random.nextInt()));
            case "FP64" -> finite(Double.longBitsToDouble(random.nextLong()));
            default -> "t\u00e9xt-" + random.nextInt(1000);
        };
    }

    private static float finite(float value) {
        return Float.isFinite(value) ? value : 1.5f;
    }

    private static double finite(double value) {
        return Double.isFinite(value) ? value : -0.0;
    }

    /** As JSON. */
    String json(String id) {
        return "{\"id\":\"" + id + "\",\"inputs\":["
                + inputs.stream().map(RandomInput::json).collect(Collectors.joining(",")) + "]}";
    }

    /** As binary data, which is asked for in the response, too. */
    BinaryRequest.Body binary(String id) {
        List<byte[]> raw = inputs.stream().map(RandomInput::raw).toList();
        StringBuilder json =
                new StringBuilder("{\"id\":\"" + id + "\",\"parameters\":{\"binary_data_output\":true},\"inputs\":[");
        int length = 0;
        for (int i = 0; i < raw.size(); i++) {
            json.append(i == 0 ? "" : ",")
                    .append(inputs.get(i).head())
                    .append(",\"parameters\":{\"binary_data_size\":")
                    .append(raw.get(i).length)
                    .append("}}");
            length += raw.get(i).length;
        }
        byte[] head = json.append("]}").toString().getBytes(StandardCharsets.UTF_8);
        ByteBuffer body = ByteBuffer.allocate(head.length + length).put(head);
        raw.forEach(body::put);
        return new BinaryRequest.Body(body.array(), head.length);
    }

    ModelInferRequest raw(String id) {
        ModelInferRequest.Builder request =
                ModelInferRequest.newBuilder().setModelName("m").setId(id);
        for (RandomInput input : inputs) {
            request.addInputs(input.tensor()).addRawInputContents(ByteString.copyFrom(input.raw()));
        }
        return request.build();
    }

    ModelInferRequest typed(String id) {
        ModelInferRequest.Builder request =
                ModelInferRequest.newBuilder().setModelName("m").setId(id);
        inputs.forEach(input -> request.addInputs(input.tensor().setContents(input.contents())));
        return request.build();
    }
}
