package dev.isthmus.gateway.batching;

import com.google.protobuf.ByteString;
import dev.isthmus.oip.DataType;
import dev.isthmus.proto.InferParameter;
import dev.isthmus.proto.InferTensorContents;
import dev.isthmus.proto.ModelInferRequest;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Random;

/** Requests of a few kinds, which differ in datatypes, shapes and parameters, with random rows, elements and ids. */
final class RandomRequests {
    private final Random random;
    private int kind;
    private int number;

    RandomRequests(long seed) {
        random = new Random(seed);
    }

    /** Begins with other kinds. */
    void other() {
        kind += 3;
    }

    /** A request of one of three kinds. */
    ModelInferRequest next() {
        int chosen = kind + random.nextInt(3);
        boolean named = chosen % 2 == 0;
        ModelInferRequest.Builder request = ModelInferRequest.newBuilder()
                .setModelName("m")
                .setId(named ? "id-" + number++ : "")
                .putParameters(
                        "priority",
                        InferParameter.newBuilder().setInt64Param(chosen % 3).build());
        int rows = 1 + random.nextInt(4);
        if (chosen % 5 == 4) {
            return typed(request, rows).build();
        }
        List<DataType> types = List.of(DataType.values());
        raw(request, "A", types.get(chosen % types.size()), rows, 1 + chosen % 3);
        raw(request, "B", types.get((chosen * 7 + 3) % types.size()), rows, chosen % 4 == 0 ? 700 : 2);
        return request.build();
    }

    private void raw(ModelInferRequest.Builder request, String name, DataType type, int rows, int width) {
        request.addInputsBuilder()
                .setName(name)
                .setDatatype(type.name())
                .addShape(rows)
                .addShape(width);
        request.addRawInputContents(elements(type, rows * width));
    }

    private ByteString elements(DataType type, int count) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (int i = 0; i < count; i++) {
            byte[] element = new byte[type.fixedSize() ? type.size() : random.nextInt(20)];
            random.nextBytes(element);
            if (type == DataType.BOOL) {
                element[0] = (byte) random.nextInt(2);
            } else if (!type.fixedSize()) {
                all.writeBytes(ByteBuffer.allocate(4)
                        .order(ByteOrder.LITTLE_ENDIAN)
                        .putInt(element.length)
                        .array());
            }
            all.writeBytes(element);
        }
        return ByteString.copyFrom(all.toByteArray());
    }

    private ModelInferRequest.Builder typed(ModelInferRequest.Builder request, int rows) {
        InferTensorContents.Builder numbers = InferTensorContents.newBuilder();
        InferTensorContents.Builder texts = InferTensorContents.newBuilder();
        for (int i = 0; i < rows; i++) {
            numbers.addFp32Contents(random.nextFloat()).addFp32Contents(-random.nextFloat());
            texts.addBytesContents(ByteString.copyFromUtf8("x".repeat(random.nextInt(9))));
        }
        request.addInputsBuilder()
                .setName("N")
                .setDatatype("FP32")
                .addShape(rows)
                .addShape(2)
                .setContents(numbers);
        request.addInputsBuilder()
                .setName("T")
                .setDatatype("BYTES")
                .addShape(rows)
                .setContents(texts);
        return request;
    }
}
