package dev.isthmus.bench.faults;

import dev.isthmus.bench.RawMethods;
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

    /** The id as text in the protocols. */
    String text() {
        return id < 0 ? "warm" : Integer.toString(id);
    }

    /** The number of an id, -1 if it is not a number. */
    static int number(String id) {
        return id.matches("[0-9]{1,7}") ? Integer.parseInt(id) : -1;
    }

    byte[] protobuf() {
        return RawMethods.request(model, text(), "FP32", new byte[16], 1L, 4L);
    }

    byte[] json() {
        String json = "{\"id\":\"" + text()
                + "\",\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,4],\"data\":[0,0,0,0]}]}";
        return json.getBytes(StandardCharsets.UTF_8);
    }
}
