package dev.isthmus.gateway.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.util.List;

/** What became of a call, by its request id. */
final class CallCommand extends RemoteCommand {
    private static final String PATH = "/debug/calls/";

    CallCommand() {
        super(
                "call",
                List.of("REQUEST_ID"),
                "Says what became of a call: server, attempts, phases, error. Needs the admin token.",
                PATH,
                CallCommand::print);
    }

    @Override
    JsonNode document(AdminClient admin, Arguments arguments) throws Exception {
        return admin.get(PATH + AdminClient.segment(arguments.operand(0)));
    }

    private static void print(JsonNode call, Console console) {
        TextTable.print(
                console.out(),
                "FIELD=field, VALUE=value",
                call.properties().stream()
                        .filter(field -> !field.getKey().equals("number"))
                        .map(field -> JsonNodeFactory.instance
                                .objectNode()
                                .put("field", field.getKey())
                                .put("value", text(field.getValue())))
                        .filter(row -> !row.path("value").asText().isEmpty()));
    }

    private static String text(JsonNode value) {
        return value.isContainerNode() ? value.toString() : value.asText();
    }
}
