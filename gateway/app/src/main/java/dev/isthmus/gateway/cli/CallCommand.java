package dev.isthmus.gateway.cli;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Map;

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
        TextTable table = new TextTable("FIELD", "VALUE");
        for (Map.Entry<String, JsonNode> field : call.properties()) {
            JsonNode value = field.getValue();
            String text = value.isContainerNode() ? value.toString() : value.asText();
            if (!text.isEmpty() && !field.getKey().equals("number")) {
                table.row(field.getKey(), text.replaceAll("\\p{Cntrl}", "?"));
            }
        }
        table.print(console.out());
    }
}
