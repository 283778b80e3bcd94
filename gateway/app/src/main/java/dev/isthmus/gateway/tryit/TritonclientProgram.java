package dev.isthmus.gateway.tryit;

import com.fasterxml.jackson.databind.JsonNode;
import dev.isthmus.gateway.tryit.TryItRequest.RequestForm;
import dev.isthmus.oip.DataType;
import java.net.URI;
import java.util.Locale;
import java.util.stream.Collectors;

/** A request as a Python program with tritonclient. */
record TritonclientProgram(TryItRequest request, URI url) {

    private boolean grpc() {
        return request.form() == RequestForm.GRPC;
    }

    String text() {
        boolean grpc = grpc();
        boolean environment = !request.headers().isEmpty() || url.getScheme().equals("https");
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
        return value.isNull() ? "np.nan" : value.isTextual() ? "float(" + quoted(value.asText()) + ")" : value.asText();
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
