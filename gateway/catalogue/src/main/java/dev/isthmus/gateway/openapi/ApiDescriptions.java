package dev.isthmus.gateway.openapi;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.OperationKind.ModelAction;
import dev.isthmus.gateway.call.OperationKind.ServerPath;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.extension.PathTemplate;
import dev.isthmus.gateway.settings.AuthenticationConfig;
import dev.isthmus.gateway.settings.AuthenticationConfig.HealthProbes;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.oip.Shape;
import io.netty.buffer.Unpooled;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The OpenAPI documents of one configuration. Thread-safe. */
public final class ApiDescriptions {
    private final SecuritySchemes security;
    private final Set<String> openListeners;

    /**
     * @param authentication null if callers are not identified
     * @param openListeners listeners whose requests need no credential
     */
    public ApiDescriptions(@Nullable AuthenticationConfig authentication, Set<String> openListeners) {
        this.security = new SecuritySchemes(authentication);
        this.openListeners = Set.copyOf(openListeners);
    }

    /**
     * The document of the gateway.
     *
     * @param server the metadata that the caller sees
     */
    public ReplyMessage.Document gateway(CallContext call, ServerMetadata server) {
        ApiDocument document = new ApiDocument(
                server.name(),
                server.version(),
                "The Open Inference Protocol over REST. The document of a model, with its inputs, outputs and an example"
                        + " request, is at /v2/models/{model}/openapi.json.");
        new GatewayApi(document, security.openHealth()).describe(Set.copyOf(server.extensions()));
        return written(call, document);
    }

    /** A reply that turns a model's metadata into its document. */
    public Reply describing(CallContext call, ModelRef model, Reply client) {
        return new DescriptionWriter(call, model, client);
    }

    private final class DescriptionWriter extends ForwardingReply {
        private final CallContext call;
        private final ModelRef model;

        DescriptionWriter(CallContext call, ModelRef model, Reply client) {
            super(client);
            this.call = call;
            this.model = model;
        }

        @Override
        public void message(ReplyMessage message) {
            super.message(message instanceof ReplyMessage.Model of ? model(call, model, of.metadata()) : message);
        }
    }

    private ReplyMessage.Document model(CallContext call, ModelRef model, ModelMetadata metadata) {
        String version = model.version().isEmpty() ? String.join(", ", metadata.versions()) : model.version();
        ApiDocument document = new ApiDocument(
                model.name(),
                version.isEmpty() ? "1" : version,
                "A model of the Open Inference Protocol"
                        + (metadata.platform().isEmpty() ? "." : ", platform " + metadata.platform() + "."));
        new ModelApi(document, path(model), metadata).describe();
        return written(call, document);
    }

    /** The path of a model or of one of its versions. */
    public static String path(ModelRef model) {
        String path = ModelAction.MODEL.replace("{model}", segment(model.name()));
        return model.version().isEmpty() ? path : path + "/versions/" + segment(model.version());
    }

    private static String segment(String name) {
        return URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20");
    }

    private ReplyMessage.Document written(CallContext call, ApiDocument document) {
        ObjectNode complete = document.complete();
        security.addTo(complete, openListeners.contains(call.listener()));
        return new ReplyMessage.Document(
                Unpooled.wrappedBuffer(complete.toString().getBytes(StandardCharsets.UTF_8)));
    }

    /**
     * How callers identify themselves.
     *
     * @param config null if callers are not identified
     */
    record SecuritySchemes(@Nullable AuthenticationConfig config) {

        /** Whether probes of the server need no credential where other requests do. */
        boolean openHealth() {
            return config != null && config.health() == HealthProbes.OPEN;
        }

        /**
         * Adds them to a document.
         *
         * @param optional whether requests without a credential are accepted, too
         */
        void addTo(ObjectNode document, boolean optional) {
            if (config == null) {
                return;
            }
            ObjectNode schemes = document.withObject("/components/securitySchemes");
            if (config.apiKeys() != null) {
                schemes.putObject("api_key")
                        .put("type", "apiKey")
                        .put("in", "header")
                        .put("name", config.apiKeys().header());
            }
            if (config.apiKeys() != null || !config.jwt().isEmpty()) {
                ObjectNode bearer =
                        schemes.putObject("bearer").put("type", "http").put("scheme", "bearer");
                if (config.apiKeys() == null) {
                    bearer.put("bearerFormat", "JWT");
                }
            }
            if (config.clientCertificates() != null) {
                schemes.putObject("client_certificate").put("type", "mutualTLS");
            }
            ArrayNode required = document.putArray("security");
            if (optional) {
                required.addObject();
            }
            schemes.fieldNames().forEachRemaining(name -> required.addObject().putArray(name));
        }
    }

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
            String names = path.segments().stream()
                    .filter(segment -> segment.startsWith("{"))
                    .map(segment -> upper(segment.substring(1, segment.length() - 1)))
                    .collect(Collectors.joining());
            return names.isEmpty() ? "" : "Of" + names;
        }

        /** The name of a constant, in camel case. */
        private static String camel(String constant) {
            return Arrays.stream(constant.toLowerCase(Locale.ROOT).split("_", -1))
                    .map(GatewayApi::upper)
                    .collect(Collectors.joining());
        }

        private static String upper(String name) {
            return name.substring(0, 1).toUpperCase(Locale.ROOT) + name.substring(1);
        }

        private static String lower(String name) {
            return name.substring(0, 1).toLowerCase(Locale.ROOT) + name.substring(1);
        }
    }

    /**
     * Describes the paths of one model, with the schemas of its inputs and outputs and an example.
     *
     * @param path of the model or of one of its versions
     */
    record ModelApi(ApiDocument document, String path, ModelMetadata metadata) {
        private static final List<String> ACTIONS =
                List.of("", ModelAction.READY.suffix(), ModelAction.INFER.suffix(), ModelAction.INFER_STREAM.suffix());
        private static final String OUTPUT = "Output";
        private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
        /** More would make a document that is mostly zeros. */
        private static final long MAX_EXAMPLE_ELEMENTS = 4096;

        void describe() {
            ExampleRequest example = ExampleRequest.of(metadata, MAX_EXAMPLE_ELEMENTS);
            document.schema("ModelInferRequest", request(example.obstacle()));
            document.schema("ModelInferResponse", tensors("InferResponse", OUTPUT, metadata.outputs()));
            document.schema("ModelInferResponseEvent", own(ApiDocument.schema("InferResponseEvent")));
            for (String action : ACTIONS) {
                ObjectNode operations = own(ApiDocument.operations(ModelAction.MODEL + action));
                if (operations.at("/post/requestBody/content/application~1json") instanceof ObjectNode body) {
                    example.document().ifPresent(request -> body.set("example", request));
                }
                document.add(path + action, operations);
            }
        }

        /** With the schemas of this model's messages in place of those of any model. */
        private static ObjectNode own(ObjectNode part) {
            part.findParents("$ref")
                    .forEach(each -> ((ObjectNode) each)
                            .put("$ref", each.path("$ref").asText().replace("/schemas/Infer", "/schemas/ModelInfer")));
            return part;
        }

        private ObjectNode request(String obstacle) {
            ObjectNode schema = tensors("InferRequest", "Input", metadata.inputs());
            return obstacle.isEmpty() ? schema : schema.put("$comment", "no example: " + obstacle);
        }

        /** The schema of a message, with that of the model's tensors. */
        private ObjectNode tensors(String message, String kind, List<TensorMetadata> tensors) {
            ObjectNode schema = ApiDocument.schema(message);
            ((ObjectNode) schema.get("properties"))
                    .set(
                            kind.toLowerCase(Locale.ROOT) + "s",
                            tensors(kind, tensors, new TensorSchemas(kind.equals(OUTPUT))));
            return schema;
        }

        /** The array of the model's inputs or outputs, in any order; of any tensors if the metadata name none. */
        private ObjectNode tensors(String kind, List<TensorMetadata> tensors, TensorSchemas schemas) {
            ObjectNode array = JSON.objectNode().put("type", "array");
            if (tensors.isEmpty()) {
                array.set("items", ApiDocument.reference("Infer" + kind));
                return array;
            }
            array.put("maxItems", tensors.size());
            List<ObjectNode> references = new ArrayList<>();
            ObjectNode mapping = JSON.objectNode();
            for (int i = 0; i < tensors.size(); i++) {
                TensorMetadata tensor = tensors.get(i);
                String name = schemaName(kind, tensor.name(), i);
                references.add(document.schema(name, schemas.of(tensor)));
                mapping.put(tensor.name(), references.getLast().path("$ref").asText());
            }
            if (references.size() == 1) {
                array.set("items", references.getFirst());
                return array;
            }
            ObjectNode items = array.putObject("items");
            ArrayNode alternatives = items.putArray("oneOf");
            references.forEach(alternatives::add);
            items.putObject("discriminator").put("propertyName", "name").set("mapping", mapping);
            return array;
        }

        /** Names of components have fewer characters than names of tensors. */
        private static String schemaName(String kind, String tensor, int index) {
            boolean plain = !tensor.isEmpty()
                    && tensor.chars()
                            .allMatch(c ->
                                    c == '_' || c == '-' || c == '.' || (c < 0x80 && Character.isLetterOrDigit(c)));
            return plain ? kind + "_" + tensor : kind + "." + index;
        }

        /**
         * The schemas of the inputs or the outputs of a model.
         *
         * @param output whether they describe outputs, which may lack data and have null for NaN
         */
        record TensorSchemas(boolean output) {
            private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

            /** The schema of one tensor in JSON. */
            ObjectNode of(TensorMetadata tensor) {
                ObjectNode schema = JSON.objectNode()
                        .put("description", tensor.name() + ": " + tensor.dataType() + " " + tensor.shape())
                        .put("type", "object");
                ArrayNode required =
                        schema.putArray("required").add("name").add("shape").add("datatype");
                if (!output) {
                    required.add("data");
                }
                ObjectNode properties = schema.putObject("properties");
                constant(properties.putObject("name"), tensor.name());
                properties.set("shape", shape(tensor.shape()));
                constant(properties.putObject("datatype"), tensor.dataType());
                properties.set("parameters", ApiDocument.reference("Parameters"));
                properties.set("data", data(tensor));
                return schema;
            }

            private static void constant(ObjectNode schema, String value) {
                schema.put("type", "string").put("const", value);
            }

            /** Fixed dimensions have their extent, those of variable size any. */
            private static ObjectNode shape(Shape shape) {
                ObjectNode schema = JSON.objectNode()
                        .put("description", shape + "; -1 is a dimension of variable size")
                        .put("type", "array")
                        .put("minItems", shape.rank())
                        .put("maxItems", shape.rank());
                if (shape.rank() > 0) {
                    ArrayNode extents = schema.putArray("prefixItems");
                    for (long extent : shape.toArray()) {
                        ObjectNode each =
                                extents.addObject().put("type", "integer").put("minimum", Math.max(0, extent));
                        if (extent >= 0) {
                            // Not 'const', which generators of clients apply to all extents.
                            each.put("maximum", extent);
                        }
                    }
                }
                schema.putObject("items").put("type", "integer").put("minimum", 0);
                return schema;
            }

            /** Flat, or nested as the shape says if a request's tensor may have so many dimensions. */
            private ObjectNode data(TensorMetadata tensor) {
                ObjectNode flat = JSON.objectNode().put("type", "array");
                flat.set("items", element(tensor.dataType()));
                if (tensor.shape().rank() < 2 || tensor.shape().rank() > Shape.MAX_RANK) {
                    return flat;
                }
                ObjectNode schema = JSON.objectNode();
                schema.putArray("anyOf").add(flat).add(nested(tensor, 0));
                return schema;
            }

            private ObjectNode nested(TensorMetadata tensor, int dimension) {
                if (dimension == tensor.shape().rank()) {
                    return element(tensor.dataType());
                }
                ObjectNode schema = JSON.objectNode().put("type", "array");
                long extent = tensor.shape().extent(dimension);
                if (extent >= 0) {
                    schema.put("minItems", extent).put("maxItems", extent);
                }
                schema.set("items", nested(tensor, dimension + 1));
                return schema;
            }

            /** Empty for a datatype that is none of the protocol's. */
            private ObjectNode element(String dataType) {
                ObjectNode schema = ApiDocument.element(dataType);
                if (output && schema.path("type").asText().equals("number")) {
                    schema.putArray("type").add("number").add("null");
                }
                return schema;
            }
        }
    }
}
