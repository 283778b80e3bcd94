package dev.isthmus.gateway.openapi;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.call.ModelAction;
import dev.isthmus.gateway.call.ServerPath;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.extension.PathTemplate;
import java.util.Locale;
import java.util.Set;

/** Describes the paths of the gateway: of the protocol, and of the extensions that its servers have. */
final class GatewayApi {
    private static final String VERSION = "/versions/{version}";

    private final ApiDocument document;
    private final ProtocolSchemas schemas;
    private final boolean openHealth;

    GatewayApi(ApiDocument document, ProtocolSchemas schemas, boolean openHealth) {
        this.document = document;
        this.schemas = schemas;
        this.openHealth = openHealth;
    }

    /** @param extensions the names of those that the caller sees in the server's metadata */
    void describe(Set<String> extensions) {
        for (ServerPath path : ServerPath.values()) {
            server(path);
        }
        model("", "");
        model(VERSION, "OfVersion");
        for (Extension extension : Extension.values()) {
            if (extensions.contains(extension.advertisedName())) {
                extension.paths().forEach(path -> extension(extension, path));
            }
        }
    }

    private void server(ServerPath path) {
        switch (path) {
            case LIVEZ -> health(path, "gatewayLive", "Whether the gateway itself is live", "Live");
            case READYZ -> health(path, "gatewayReady", "Whether the gateway itself accepts traffic", "Ready");
            case LIVE -> health(path, "serverLive", "Whether the server is live", "Live");
            case READY -> health(path, "serverReady", "Whether the server is ready", "Ready");
            case METADATA ->
                document.operation(false, path.path(), "serverMetadata", "metadata", "The server's metadata")
                        .answers(document.schema("ServerMetadata"));
            case OPENAPI ->
                document.operation(false, path.path(), "openapi", "metadata", "This document")
                        .answers(anything());
        }
    }

    private void health(ServerPath path, String id, String summary, String schema) {
        ApiDocument.ApiOperation probe =
                document.operation(false, path.path(), id, "health", summary).answers(document.schema(schema));
        if (openHealth) {
            probe.open();
        }
    }

    private void model(String version, String suffix) {
        String base = ModelAction.MODEL + version;
        document.operation(false, base, "modelMetadata" + suffix, "metadata", "A model's metadata")
                .answers(document.schema("ModelMetadata"));
        for (ModelAction action : ModelAction.values()) {
            action(action, base + "/" + action.segment(), lower(camel(action.name())) + suffix);
        }
    }

    private void action(ModelAction action, String path, String id) {
        switch (action) {
            case READY ->
                operation(action, path, "model" + upper(id), "health", "Whether a model is ready")
                        .answers(document.schema("ModelReady"));
            case INFER ->
                operation(action, path, id, "inference", "An inference")
                        .inference(document.schema("InferRequest"))
                        .answersInference(document.schema("InferResponse"));
            case INFER_STREAM ->
                operation(action, path, id, "inference", "An inference with any number of responses")
                        .inference(document.schema("InferRequest"))
                        .answersEvents(document.events(document.schema("InferResponse")));
            case GENERATE ->
                operation(action, path, id, "inference", "Generates text")
                        .body(document.schema("GenerateRequest"), true)
                        .answers(document.schema("GenerateResponse"));
            case GENERATE_STREAM ->
                operation(action, path, id, "inference", "Generates text, in parts")
                        .body(document.schema("GenerateRequest"), true)
                        .answersEvents(document.events(document.schema("GenerateResponse")));
            case VALIDATE ->
                operation(action, path, id + "Request", "inference", "What would be wrong with an inference")
                        .inference(document.schema("InferRequest"))
                        .answers(document.schema("RequestValidation"));
            case OPENAPI ->
                operation(action, path, "model" + upper(id), "metadata", "The description of a model, with an example")
                        .answers(anything());
        }
    }

    private ApiDocument.ApiOperation operation(ModelAction action, String path, String id, String tag, String summary) {
        return document.operation(action.post(), path, id, tag, summary);
    }

    private void extension(Extension extension, PathTemplate path) {
        String name = camel(extension.name());
        for (String method : extension.allow().split(", ", -1)) {
            boolean post = method.equals("POST");
            boolean updates = extension.changes(method) && extension.allow().contains("GET");
            ApiDocument.ApiOperation operation = document.operation(
                    post,
                    String.join("/", path.segments()),
                    (updates ? "update" + name : lower(name)) + suffix(path),
                    extension.advertisedName(),
                    extension.grpcMethod() + (updates ? ", with changes" : ""));
            if (post && schemas.has(name + "Request")) {
                operation.body(document.schema(name + "Request"), false);
            }
            if (schemas.has(name + "Response")) {
                operation.answers(document.schema(name + "Response"));
            } else {
                operation.answers();
            }
        }
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

    private static ObjectNode anything() {
        return JsonNodeFactory.instance.objectNode();
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
