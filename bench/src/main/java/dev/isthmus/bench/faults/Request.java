package dev.isthmus.bench.faults;

import com.google.protobuf.ByteString;
import dev.isthmus.proto.ModelInferRequest;
import java.nio.charset.StandardCharsets;

/**
 * One inference request of four FP32.
 *
 * @param id a number below {@link Ledger#MAX_IDS}, unique in its run; negative for a request that the stubs do not count
 * @param model the model that is asked
 */
record Request(int id, String model) {
    /** The model of all scenarios. */
    static final String MODEL = "m";

    private static final ByteString INPUT = ByteString.copyFrom(new byte[16]);

    /** The id as the protocols carry it. */
    String text() {
        return id < 0 ? "warm" : Integer.toString(id);
    }

    /** The number of an id, -1 where it is none. */
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
