package dev.isthmus.gateway.tryit;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import dev.isthmus.gateway.tryit.TryItRequest.RequestForm;
import dev.isthmus.oip.DataType;
import java.net.URI;
import java.util.Locale;
import java.util.Map;

/** A request as a Python program with tritonclient. */
final class TritonclientProgram {
    private final TryItRequest request;
    private final URI url;
    private final boolean grpc;
    private final StringBuilder text = new StringBuilder();

    TritonclientProgram(TryItRequest request, URI url) {
        this.request = request;
        this.url = url;
        this.grpc = request.form() == RequestForm.GRPC;
    }

    String text() {
        Map<String, String> headers = RequestCommands.variables(request);
        if (!headers.isEmpty() || url.getScheme().equals("https")) {
            line("import os");
        }
        if (request.inputs().stream().anyMatch(input -> input.type() == DataType.BF16)) {
            line("import ml_dtypes");
        }
        line("import numpy as np");
        line("import tritonclient." + (grpc ? "grpc" : "http") + " as triton");
        line("");
        line("client = triton.InferenceServerClient(" + quoted(url.getAuthority()) + tls() + ")");
        line("inputs = []");
        request.inputs().forEach(this::input);
        StringBuilder arguments = new StringBuilder(quoted(request.model().name())).append(", inputs");
        if (!request.model().version().isEmpty()) {
            arguments.append(", model_version=").append(quoted(request.model().version()));
        }
        if (!headers.isEmpty()) {
            StringBuilder fields = new StringBuilder();
            headers.forEach((name, variable) -> fields.append(fields.isEmpty() ? "" : ", ")
                    .append(quoted(name) + ": os.environ[" + quoted(variable) + "]"));
            arguments.append(", headers={").append(fields).append('}');
        }
        line("result = client.infer(" + arguments + ")");
        line(
                grpc
                        ? "for output in result.get_response().outputs:"
                        : "for output in result.get_response()[\"outputs\"]:");
        line(
                grpc
                        ? "    print(output.name, result.as_numpy(output.name))"
                        : "    print(output[\"name\"], result.as_numpy(output[\"name\"]))");
        return text.toString();
    }

    private String tls() {
        if (!url.getScheme().equals("https")) {
            return "";
        }
        return grpc
                ? ", ssl=True, root_certificates=os.environ[\"CA_FILE\"]"
                : ", ssl=True, ssl_options={\"ca_certs\": os.environ[\"CA_FILE\"]}";
    }

    private void input(TryItInput input) {
        String shape = input.shape().toList().toString();
        line("tensor = triton.InferInput(" + quoted(input.name()) + ", " + shape + ", "
                + quoted(input.type().name()) + ")");
        // tritonclient cannot write half floats as JSON.
        boolean json = request.form() == RequestForm.JSON && !request.hasHalfFloats();
        line("tensor.set_data_from_numpy(" + array(input, shape) + (json ? ", binary_data=False" : "") + ")");
        line("inputs.append(tensor)");
    }

    private static String array(TryItInput input, String shape) {
        if (input.data() == null && input.type() != DataType.BYTES) {
            return "np.zeros(" + shape + ", " + type(input.type()) + ")";
        }
        StringBuilder values = new StringBuilder();
        append(input.json().path("data"), input.type(), values);
        return "np.array(" + values + ", " + type(input.type()) + ").reshape(" + shape + ")";
    }

    private static void append(JsonNode value, DataType type, StringBuilder into) {
        if (value instanceof ArrayNode array) {
            into.append('[');
            String separator = "";
            for (JsonNode each : array) {
                into.append(separator);
                append(each, type, into);
                separator = ", ";
            }
            into.append(']');
        } else if (value.isBoolean()) {
            into.append(value.asBoolean() ? "True" : "False");
        } else if (type == DataType.BYTES) {
            into.append(quoted(value.asText())).append(".encode()");
        } else if (value.isNull()) {
            into.append("np.nan");
        } else {
            into.append(value.isTextual() ? "float(" + quoted(value.asText()) + ")" : value.asText());
        }
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

    private void line(String code) {
        text.append(code).append('\n');
    }

    /** A string of JSON is one of Python. */
    private static String quoted(String value) {
        return TryItInput.JSON.getNodeFactory().textNode(value).toString();
    }
}
