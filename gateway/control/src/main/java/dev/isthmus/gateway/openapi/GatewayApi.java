package dev.isthmus.gateway.openapi;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.call.ModelAction;
import dev.isthmus.gateway.call.ServerPath;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.extension.PathTemplate;
import java.util.Arrays;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Describes the paths of the gateway: of the protocol, and of the extensions that its servers have.
 *
 * @param openHealth whether probes of the server need no credential
 */
record GatewayApi(ApiDocument document, boolean openHealth) {

    /** @param extensions the names of those that the caller sees in the server's metadata */
    void describe(Set<String> extensions) {
        for (ServerPath path : ServerPath.values()) {
            ObjectNode operations = ApiDocument.operations(path.path());
            ObjectNode get = (ObjectNode) operations.get("get");
            if (openHealth && get.at("/tags/0").asText().equals("health")) {
                get.putArray("security");
            }
            document.add(path.path(), operations);
        }
        model("", "");
        model("/versions/{version}", "OfVersion");
        for (Extension extension : Extension.values()) {
            if (extensions.contains(extension.advertisedName())) {
                extension.paths().forEach(path -> extension(extension, path));
            }
        }
    }

    private void model(String version, String suffix) {
        Stream<String> actions = Arrays.stream(ModelAction.values()).map(ModelAction::suffix);
        Stream.concat(Stream.of(""), actions).forEach(action -> {
            ObjectNode operations = ApiDocument.operations(ModelAction.MODEL + action);
            operations.forEach(each -> ((ObjectNode) each)
                    .put("operationId", each.path("operationId").asText() + suffix));
            document.add(ModelAction.MODEL + version + action, operations);
        });
    }

    private void extension(Extension extension, PathTemplate path) {
        String name = camel(extension.name());
        ObjectNode operations = JsonNodeFactory.instance.objectNode();
        for (String method : extension.allow().split(", ", -1)) {
            boolean updates = extension.changes(method) && extension.allow().contains("GET");
            ObjectNode operation = operations
                    .putObject(method.toLowerCase(Locale.ROOT))
                    .put("operationId", (updates ? "update" + name : lower(name)) + suffix(path))
                    .put("summary", extension.grpcMethod() + (updates ? ", with changes" : ""));
            operation.putArray("tags").add(extension.advertisedName());
            if (method.equals("POST") && ApiDocument.hasSchema(name + "Request")) {
                content(operation.putObject("requestBody").put("required", false), name + "Request");
            }
            ObjectNode responses = operation.putObject("responses");
            responses.putObject("default").put("$ref", "#/components/responses/Error");
            boolean hasBody = ApiDocument.hasSchema(name + "Response");
            ObjectNode success = responses.putObject("200").put("description", hasBody ? "Success." : "Done.");
            if (hasBody) {
                content(success, name + "Response");
            }
        }
        document.add(String.join("/", path.segments()), operations);
    }

    private static void content(ObjectNode body, String schema) {
        body.putObject("content").putObject("application/json").set("schema", ApiDocument.reference(schema));
    }

    /** The parameters, as the end of the operation's name. */
    private static String suffix(PathTemplate path) {
        StringBuilder suffix = new StringBuilder();
        for (String segment : path.segments()) {
            if (segment.startsWith("{")) {
                suffix.append(suffix.isEmpty() ? "Of" : "").append(upper(segment.substring(1, segment.length() - 1)));
            }
        }
        return suffix.toString();
    }

    /** The name of a constant, in camel case. */
    private static String camel(String constant) {
        StringBuilder name = new StringBuilder();
        for (String word : constant.toLowerCase(Locale.ROOT).split("_", -1)) {
            name.append(upper(word));
        }
        return name.toString();
    }

    private static String upper(String name) {
        return name.substring(0, 1).toUpperCase(Locale.ROOT) + name.substring(1);
    }

    private static String lower(String name) {
        return name.substring(0, 1).toLowerCase(Locale.ROOT) + name.substring(1);
    }
}
