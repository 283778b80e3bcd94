package dev.isthmus.bench.faults;

import com.google.protobuf.ByteString;
import dev.isthmus.proto.ModelInferRequest;
import java.nio.charset.StandardCharsets;

/**
 * An inference request with four FP32 elements.
 *
 * @param id below {@link Ledger#MAX_IDS} and unique in its run; negative for a request that the stubs do not count
 * @param model name of the model
 */
record Request(int id, String model) {
    /** The model of all scenarios. */
    static final String MODEL = "m";

    private static final ByteString INPUT = ByteString.copyFrom(new byte[16]);

    /** The id as text in the protocols. */
    String text() {
        return id < 0 ? "warm" : Integer.toString(id);
    }

    /** The number of an id, -1 if it is not a number. */
    static int number(String id) {
        return id.matches("[0-9]{1,7}") ? Integer.parseInt(id) : -1;
    }

    byte[] protobuf() {
        return ModelInferRequest.newBuilder()
                .setModelName(model)
                .setId(text())
                .addInputs(ModelInferRequest.InferInputTensor.newBuilder()
                        .setName("x")
                        .setDatatype("FP32")
                        .addShape(1)
                        .addShape(4))
                .addRawInputContents(INPUT)
                .build()
                .toByteArray();
    }

    byte[] json() {
        String json = "{\"id\":\"" + text()
                + "\",\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,4],\"data\":[0,0,0,0]}]}";
        return json.getBytes(StandardCharsets.UTF_8);
    }
}
