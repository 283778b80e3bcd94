package dev.isthmus.gateway.tryit;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.openapi.ApiDescriptions;
import dev.isthmus.gateway.tryit.TryItRequest.RequestForm;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.util.ByteProcessor;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * A request as commands for a shell, and as a program. Values of headers are not in them: they are read from variables
 * of the environment.
 *
 * @param url where the client reaches the listener
 */
record RequestCommands(TryItRequest request, URI url) {
    /** Longer commands are not shown: nobody pastes them, and shells do not take them. */
    private static final int MAX_LENGTH = 96 << 10;

    /**
     * The commands by name; without those that would be too long.
     *
     * @param decoded the same request (borrowed)
     */
    ObjectNode document(InferRequest decoded) {
        ObjectNode json = TryItInput.JSON.createObjectNode();
        if (request.form() == RequestForm.GRPC) {
            put(json, "grpcurl", grpcurl(decoded));
        } else {
            put(json, "curl", request.form() == RequestForm.JSON ? curl() : binaryCurl(decoded));
        }
        put(json, "python", new TritonclientProgram(request, url).text());
        return json;
    }

    private static void put(ObjectNode json, String name, String command) {
        if (command.length() <= MAX_LENGTH) {
            json.put(name, command);
        }
    }

    private String curl() {
        return "curl -s" + certificate("--cacert") + headers("-H") + " " + quoted(inferUrl()) + " -d "
                + quoted(request.json().toString());
    }

    /** The JSON, then the raw form of each tensor. */
    private String binaryCurl(InferRequest decoded) {
        ObjectNode json = TryItInput.JSON.createObjectNode();
        ArrayNode inputs = json.putArray("inputs");
        List<String> parts = new ArrayList<>();
        for (int i = 0; i < request.inputs().size(); i++) {
            ByteBuf data = decoded.inputs().get(i).data();
            ObjectNode head = request.inputs().get(i).head();
            head.putObject("parameters").put("binary_data_size", data.readableBytes());
            inputs.add(head);
            parts.add(bytes(data));
        }
        String text = json.toString();
        int length = text.getBytes(StandardCharsets.UTF_8).length;
        return "{ printf %s " + quoted(text) + "; " + String.join("; ", parts) + "; } | \\\n  curl -s"
                + certificate("--cacert") + headers("-H")
                + " -H 'Content-Type: application/octet-stream' -H 'Inference-Header-Content-Length: " + length + "' "
                + quoted(inferUrl()) + " --data-binary @-";
    }

    /** A command that writes these bytes. */
    private static String bytes(ByteBuf data) {
        int length = data.readableBytes();
        boolean zeros = data.forEachByte(ByteProcessor.FIND_NON_NUL) < 0;
        return zeros && length > 32 ? "head -c " + length + " /dev/zero" : "printf %s " + base64(data) + " | base64 -d";
    }

    private static String base64(ByteBuf data) {
        return Base64.getEncoder().encodeToString(ByteBufUtil.getBytes(data));
    }

    private String grpcurl(InferRequest decoded) {
        ObjectNode json = TryItInput.JSON
                .createObjectNode()
                .put("model_name", request.model().name());
        if (!request.model().version().isEmpty()) {
            json.put("model_version", request.model().version());
        }
        boolean raw = request.hasHalfFloats();
        ArrayNode inputs = json.putArray("inputs");
        for (TryItInput input : request.inputs()) {
            ObjectNode head = input.head();
            if (!raw) {
                head.putObject("contents").set(contents(input.type()), contents(input));
            }
            inputs.add(head);
        }
        if (raw) {
            ArrayNode contents = json.putArray("raw_input_contents");
            decoded.inputs().stream().map(Tensor::data).forEach(data -> contents.add(base64(data)));
        }
        return "grpcurl" + (secure() ? certificate("-cacert") : " -plaintext") + headers("-H") + " -d "
                + quoted(json.toString()) + " " + url.getAuthority() + " inference.GRPCInferenceService/ModelInfer";
    }

    private static String contents(DataType type) {
        return switch (type) {
            case BOOL -> "bool_contents";
            case UINT8, UINT16, UINT32 -> "uint_contents";
            case UINT64 -> "uint64_contents";
            case INT8, INT16, INT32 -> "int_contents";
            case INT64 -> "int64_contents";
            case FP16, BF16, FP32 -> "fp32_contents";
            case FP64 -> "fp64_contents";
            case BYTES -> "bytes_contents";
        };
    }

    /** The elements, not nested, in the JSON of protobuf: bytes are base64. */
    private static ArrayNode contents(TryItInput input) {
        ArrayNode flat = TryItInput.JSON.createArrayNode();
        flatten(input.json().path("data"), input.type(), flat);
        return flat;
    }

    private static void flatten(JsonNode data, DataType type, ArrayNode into) {
        for (JsonNode each : data) {
            if (each.isArray()) {
                flatten(each, type, into);
            } else if (type == DataType.BYTES) {
                into.add(Base64.getEncoder().encodeToString(each.asText().getBytes(StandardCharsets.UTF_8)));
            } else {
                into.add(each);
            }
        }
    }

    private boolean secure() {
        return url.getScheme().equals("https");
    }

    private String certificate(String option) {
        return secure() ? " " + option + " \"$CA_FILE\"" : "";
    }

    private String headers(String option) {
        return variables(request).entrySet().stream()
                .map(each -> " " + option + " " + quoted(each.getKey() + ": ") + "\"$" + each.getValue() + "\"")
                .collect(Collectors.joining());
    }

    /** The variables with the values of headers, by the headers' names. */
    static Map<String, String> variables(TryItRequest request) {
        Map<String, String> variables = new TreeMap<>();
        request.headers()
                .keySet()
                .forEach(name ->
                        variables.put(name, name.toUpperCase(Locale.ROOT).replaceAll("[^A-Z0-9]", "_")));
        return variables;
    }

    private String inferUrl() {
        return url + ApiDescriptions.path(request.model()) + "/infer";
    }

    /** One word of a POSIX shell. */
    static String quoted(String text) {
        return "'" + text.replace("'", "'\\''") + "'";
    }

    /** A request as a Python program with tritonclient. */
    record TritonclientProgram(TryItRequest request, URI url) {

        private boolean grpc() {
            return request.form() == RequestForm.GRPC;
        }

        String text() {
            boolean grpc = grpc();
            boolean environment =
                    !request.headers().isEmpty() || url.getScheme().equals("https");
            boolean bfloats = request.inputs().stream().anyMatch(input -> input.type() == DataType.BF16);
            return (environment ? "import os\n" : "")
                    + (bfloats ? "import ml_dtypes\n" : "")
                    + """
                    import numpy as np
                    import tritonclient.%s as triton

                    client = triton.InferenceServerClient(%s%s)
                    inputs = []
                    %sresult = client.infer(%s)
                    """.formatted(
                                    grpc ? "grpc" : "http",
                                    quoted(url.getAuthority()),
                                    tls(),
                                    request.inputs().stream().map(this::input).collect(Collectors.joining()),
                                    arguments())
                    + (grpc ? """
                            for output in result.get_response().outputs:
                                print(output.name, result.as_numpy(output.name))
                            """ : """
                            for output in result.get_response()["outputs"]:
                                print(output["name"], result.as_numpy(output["name"]))
                            """);
        }

        private String arguments() {
            String version = request.model().version();
            String headers = RequestCommands.variables(request).entrySet().stream()
                    .map(each -> quoted(each.getKey()) + ": os.environ[" + quoted(each.getValue()) + "]")
                    .collect(Collectors.joining(", "));
            return quoted(request.model().name()) + ", inputs"
                    + (version.isEmpty() ? "" : ", model_version=" + quoted(version))
                    + (headers.isEmpty() ? "" : ", headers={" + headers + "}");
        }

        private String tls() {
            if (!url.getScheme().equals("https")) {
                return "";
            }
            return grpc()
                    ? ", ssl=True, root_certificates=os.environ[\"CA_FILE\"]"
                    : ", ssl=True, ssl_options={\"ca_certs\": os.environ[\"CA_FILE\"]}";
        }

        private String input(TryItInput input) {
            String shape = input.shape().toList().toString();
            // tritonclient cannot write half floats as JSON.
            boolean json = request.form() == RequestForm.JSON && !request.hasHalfFloats();
            return """
                    tensor = triton.InferInput(%s, %s, %s)
                    tensor.set_data_from_numpy(%s%s)
                    inputs.append(tensor)
                    """.formatted(
                            quoted(input.name()),
                            shape,
                            quoted(input.type().name()),
                            array(input, shape),
                            json ? ", binary_data=False" : "");
        }

        private static String array(TryItInput input, String shape) {
            if (input.data() == null && input.type() != DataType.BYTES) {
                return "np.zeros(" + shape + ", " + type(input.type()) + ")";
            }
            String values = values(input.json().path("data"), input.type());
            return "np.array(" + values + ", " + type(input.type()) + ").reshape(" + shape + ")";
        }

        private static String values(JsonNode value, DataType type) {
            if (value.isArray()) {
                return value.valueStream().map(each -> values(each, type)).collect(Collectors.joining(", ", "[", "]"));
            }
            if (value.isBoolean()) {
                return value.asBoolean() ? "True" : "False";
            }
            if (type == DataType.BYTES) {
                return quoted(value.asText()) + ".encode()";
            }
            return value.isNull()
                    ? "np.nan"
                    : value.isTextual() ? "float(" + quoted(value.asText()) + ")" : value.asText();
        }

        private static String type(DataType type) {
            return switch (type) {
                case BOOL -> "np.bool_";
                case UINT8, UINT16, UINT32, UINT64, INT8, INT16, INT32, INT64 ->
                    "np." + type.name().toLowerCase(Locale.ROOT);
                case FP16 -> "np.float16";
                case BF16 -> "ml_dtypes.bfloat16";
                case FP32 -> "np.float32";
                case FP64 -> "np.float64";
                case BYTES -> "np.object_";
            };
        }

        /** A string of JSON is one of Python. */
        private static String quoted(String value) {
            return TryItInput.JSON.getNodeFactory().textNode(value).toString();
        }
    }
}
