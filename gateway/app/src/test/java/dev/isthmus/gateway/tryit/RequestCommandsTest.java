package dev.isthmus.gateway.tryit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.rest.RestRequest;
import java.net.URI;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RequestCommandsTest {
    private static JsonNode commands(String url, String form, String rest) {
        TryItRequest request = TryItRequest.parse("{\"model\": \"a m\", \"form\": \"" + form + "\"" + rest + "}");
        RestRequest decoded = request.decoded();
        try {
            return new RequestCommands(request, URI.create(url)).document(decoded.request());
        } finally {
            decoded.request().release();
        }
    }

    private static String inputs(String type, String shape, String data) {
        return ", \"inputs\": [{\"name\": \"it's\", \"datatype\": \"" + type + "\", \"shape\": " + shape
                + ", \"data\": \"" + data + "\"}]";
    }

    @Test
    void curl_isQuoted_andHasThePathOfTheVersion() {
        assertThat(commands("http://h:1", "json", ", \"version\": \"2\"" + inputs("INT8", "[2]", "1, -2"))
                        .path("curl")
                        .asText())
                .isEqualTo(
                        "curl -s 'http://h:1/v2/models/a%20m/versions/2/infer' -d"
                                + " '{\"inputs\":[{\"name\":\"it'\\''s\",\"datatype\":\"INT8\",\"shape\":[2],\"data\":[1,-2]}]}'");
    }

    @Test
    void binaryData_areBase64_orZeros() {
        assertThat(commands("http://h:1", "binary", inputs("INT16", "[2]", "1, -2"))
                        .path("curl")
                        .asText())
                .contains("\"parameters\":{\"binary_data_size\":4}", "printf %s AQD+/w== | base64 -d");
        assertThat(commands("http://h:1", "binary", inputs("FP64", "[100]", ""))
                        .path("curl")
                        .asText())
                .contains("; head -c 800 /dev/zero; } |");
    }

    @Test
    void headers_areReadFromTheEnvironment() {
        String headers = ", \"headers\": {\"X-Team\": \"a\", \"authorization\": \"Bearer b\"}";
        JsonNode curl = commands("http://h:1", "json", headers);
        assertThat(curl.path("curl").asText())
                .contains(" -H 'authorization: '\"$AUTHORIZATION\" -H 'x-team: '\"$X_TEAM\" ")
                .doesNotContain("Bearer");
        assertThat(curl.path("python").asText())
                .startsWith("import os\n")
                .contains(
                        "headers={\"authorization\": os.environ[\"AUTHORIZATION\"], \"x-team\": os.environ[\"X_TEAM\"]}");
        assertThat(commands("http://h:1", "grpc", headers).path("grpcurl").asText())
                .contains(" -H 'x-team: '\"$X_TEAM\" ");
    }

    @Test
    void tls_needsTheCertificateOfTheIssuer() {
        JsonNode json = commands("https://h:1", "json", "");
        assertThat(json.path("curl").asText()).startsWith("curl -s --cacert \"$CA_FILE\" 'https://h:1/v2/");
        assertThat(json.path("python").asText())
                .contains("ssl=True, ssl_options={\"ca_certs\": os.environ[\"CA_FILE\"]}");
        JsonNode grpc = commands("https://h:1", "grpc", "");
        assertThat(grpc.path("grpcurl").asText()).startsWith("grpcurl -cacert \"$CA_FILE\" -d ");
        assertThat(grpc.path("python").asText()).contains("ssl=True, root_certificates=os.environ[\"CA_FILE\"]");
    }

    @Test
    void halfFloats_areRawOverGrpc() {
        assertThat(commands("http://h:1", "grpc", inputs("FP16", "[1]", "1.5"))
                        .path("grpcurl")
                        .asText())
                .contains("\"raw_input_contents\":[\"AD4=\"]")
                .doesNotContain("contents\":{");
        assertThat(commands("http://h:1", "grpc", inputs("BYTES", "[1]", "a"))
                        .path("grpcurl")
                        .asText())
                .contains("\"contents\":{\"bytes_contents\":[\"YQ==\"]}");
    }

    @ParameterizedTest
    @ValueSource(strings = {"[1.5]", "[-1]", "[\"2\"]", "[null]", "[1e30]"})
    void shapeThatIsNone_isRefused(String shape) {
        assertThatThrownBy(() -> commands("http://h:1", "json", inputs("INT8", shape, "1")))
                .isInstanceOf(OipException.class)
                .hasMessageStartingWith("input 'it's': a shape of at most ");
    }
}
