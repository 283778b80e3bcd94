package dev.isthmus.gateway.batching;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.gateway.upstream.RecordedReply;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A server that answers the inputs as JSON, FP32 with the digits of a double, as MLServer does. */
class JoinedOverRestTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Semaphore answers = new Semaphore(0);
    private boolean nested;
    private String madeId = "";
    private FakeRestServer server;
    private BatchingBench bench;

    @BeforeEach
    void open() throws Exception {
        server = FakeRestServer.that((request, out) -> {
            answers.acquireUninterruptibly();
            FakeRestServer.write(out, FakeRestServer.ok(answer(request.body())));
            return true;
        });
        bench = BatchingBench.overRest(server.endpoint());
    }

    @AfterEach
    void nothingIsHeld() throws Exception {
        bench.close();
        server.close();
    }

    private String answer(String body) {
        try {
            JsonNode request = JSON.readTree(body.getBytes(StandardCharsets.ISO_8859_1));
            ObjectNode response = JSON.createObjectNode().put("model_name", "m");
            String id = request.path("id").asText(madeId);
            if (!id.isEmpty()) {
                response.put("id", id);
            }
            response.putObject("parameters").put("text", "a \"]},{ ,[");
            ArrayNode outputs = response.putArray("outputs");
            for (JsonNode input : request.get("inputs")) {
                ObjectNode output = outputs.addObject();
                output.put("name", "OUT_" + input.get("name").asText());
                output.set("datatype", input.get("datatype"));
                output.set("shape", input.get("shape"));
                output.set("data", data(input));
            }
            String text = JSON.writerWithDefaultPrettyPrinter().writeValueAsString(response);
            return new String(text.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private ArrayNode data(JsonNode input) {
        boolean floats = input.get("datatype").asText().equals("FP32");
        ArrayNode flat = JSON.createArrayNode();
        for (JsonNode each : input.get("data")) {
            if (floats) {
                flat.add((double) (float) each.asDouble());
            } else {
                flat.add(each);
            }
        }
        if (!nested) {
            return flat;
        }
        int rows = input.get("shape").get(0).asInt();
        ArrayNode all = JSON.createArrayNode();
        for (int i = 0; i < rows; i++) {
            ArrayNode row = all.addArray();
            for (int j = 0; j < flat.size() / rows; j++) {
                row.add(flat.get(i * (flat.size() / rows) + j));
            }
        }
        return all;
    }

    private static String request(String id, String... inputs) {
        String named = id.isEmpty() ? "" : "\"id\":\"" + id + "\",";
        return "{" + named + "\"inputs\":[" + String.join(",", inputs) + "]}";
    }

    private static String input(String name, String datatype, int rows, int width, String data) {
        return "{\"name\":\"" + name + "\",\"shape\":[" + rows + "," + width + "],\"datatype\":\"" + datatype
                + "\",\"data\":[" + data + "]}";
    }

    private RecordedReply send(String request) {
        return bench.send(request.getBytes(StandardCharsets.ISO_8859_1));
    }

    private static String text(RecordedReply reply) throws Exception {
        return new String(BatchingBench.bytes(reply), StandardCharsets.ISO_8859_1);
    }

    /** A request that is sent at once: others wait for it. */
    private RecordedReply first() throws Exception {
        RecordedReply first = send(request("first", input("A", "INT64", 1, 1, "1")));
        server.request();
        return first;
    }

    private static String row(Random random, int elements, String datatype) {
        List<String> all = new ArrayList<>();
        for (int i = 0; i < elements; i++) {
            all.add(
                    switch (datatype) {
                        case "FP32" -> Float.toString(random.nextFloat() * 1000 - 500);
                        case "FP64" -> Double.toString(random.nextDouble() - 0.5);
                        case "BYTES" ->
                            "\""
                                    + List.of("a", "", ",]}", "\\\"\\\\", "\\u00e9")
                                            .get(random.nextInt(5)) + "\"";
                        case "BOOL" -> Boolean.toString(random.nextBoolean());
                        default -> Integer.toString(random.nextInt(200) - 100);
                    });
        }
        return String.join(",", all);
    }

    private void randomRequests() throws Exception {
        Random random = new Random(20_261_126);
        List<String> types = List.of("FP32", "FP64", "BYTES", "BOOL", "INT8", "INT16", "INT32", "INT64");
        for (int round = 0; round < 20; round++) {
            RecordedReply first = first();
            List<String> requests = new ArrayList<>();
            List<RecordedReply> replies = new ArrayList<>();
            String one = types.get(round % types.size());
            String two = types.get((round * 3 + 1) % types.size());
            for (int i = 0; i < 6; i++) {
                int rows = 1 + random.nextInt(3);
                requests.add(request(
                        round + "-" + i,
                        input("A", one, rows, 2, row(random, rows * 2, one)),
                        input("B", two, rows, 3, row(random, rows * 3, two))));
                replies.add(send(requests.getLast()));
            }
            bench.settle();
            answers.release(2);
            first.response().release();
            for (int i = 0; i < requests.size(); i++) {
                assertThat(text(replies.get(i))).isEqualTo(answer(requests.get(i)));
            }
            server.request();
        }
        assertThat(bench.calls()).isEqualTo(20);
    }

    @Test
    void requests_areAnsweredWithTheServersText_asAlone() throws Exception {
        randomRequests();
    }

    @Test
    void nestedData_isDividedByRows() throws Exception {
        nested = true;
        randomRequests();
    }

    @Test
    void serverThatMakesIds_makesOneForEach() throws Exception {
        madeId = "made";
        RecordedReply first = first();
        RecordedReply one = send(request("", input("A", "INT64", 1, 1, "1")));
        RecordedReply two = send(request("", input("A", "INT64", 1, 1, "2")));
        bench.settle();
        answers.release(2);
        first.response().release();
        JsonNode answer = JSON.readTree(text(one));
        JsonNode other = JSON.readTree(text(two));
        assertThat(answer.get("id").asText())
                .isNotEmpty()
                .isNotEqualTo(other.get("id").asText());
        assertThat(other.get("outputs").get(0).get("data").get(0).asInt()).isEqualTo(2);
    }

    @Test
    void jsonThatServersReadDifferently_isSentAsItIs() throws Exception {
        RecordedReply first = first();
        answers.release(3);
        String numbers = request("", input("A", "FP16", 1, 1, "1.5"));
        assertThat(text(send(numbers))).isEqualTo(answer(numbers));
        assertThat(bench.requests("json")).isEqualTo(1);
        first.response().release();
    }
}
