package dev.isthmus.bench.local;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.ByteString;
import dev.isthmus.proto.ModelInferResponse;
import java.io.IOException;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.Arrays;

/**
 * A server's response.
 *
 * @param head length of the JSON before binary data in bytes, -1 without binary data
 */
@SuppressWarnings("ArrayRecordComponent") // responses are compared by same
record ServerResponse(RequestEncoding encoding, int head, byte[] body) {
    private static final double TOLERANCE = 1e-6;

    /** The elements of the first FP32 output. */
    float[] floats() throws IOException {
        return switch (encoding) {
            case JSON -> json(body, body.length);
            case BINARY -> json(body, head);
            case GRPC -> grpc();
        };
    }

    private float[] grpc() throws IOException {
        ModelInferResponse response = ModelInferResponse.parseFrom(body);
        for (int i = 0; i < response.getOutputsCount(); i++) {
            if (response.getOutputs(i).getDatatype().equals("FP32")) {
                return floats(response.getRawOutputContents(i));
            }
        }
        throw new IOException("no FP32 in " + response);
    }

    private static float[] floats(ByteString raw) {
        FloatBuffer values =
                raw.asReadOnlyByteBuffer().order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer();
        float[] floats = new float[values.remaining()];
        values.get(floats);
        return floats;
    }

    private float[] json(byte[] text, int length) throws IOException {
        JsonNode json = new ObjectMapper().readTree(text, 0, length);
        int at = length;
        for (JsonNode output : json.path("outputs")) {
            int size = output.path("parameters").path("binary_data_size").asInt(0);
            if (output.path("datatype").asText().equals("FP32")) {
                return size > 0 ? floats(ByteString.copyFrom(text, at, size)) : numbers(output.path("data"));
            }
            at += size;
        }
        throw new IOException("no FP32 in " + json);
    }

    private static float[] numbers(JsonNode data) {
        float[] floats = new float[data.size()];
        for (int i = 0; i < floats.length; i++) {
            floats[i] = data.get(i).floatValue();
        }
        return floats;
    }

    /** Whether another server's response has the same values, within the tolerance. */
    boolean same(ServerResponse other) throws IOException {
        float[] mine = floats();
        float[] theirs = other.floats();
        boolean same = mine.length == theirs.length;
        for (int i = 0; same && i < mine.length; i++) {
            same = Math.abs(mine[i] - theirs[i]) <= TOLERANCE;
        }
        return same;
    }

    @Override
    public String toString() {
        try {
            return encoding + " " + Arrays.toString(floats());
        } catch (IOException e) {
            return encoding + ": " + e.getMessage();
        }
    }
}
