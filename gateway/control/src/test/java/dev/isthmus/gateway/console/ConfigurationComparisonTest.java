package dev.isthmus.gateway.console;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.admin.AdminRequest;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.GatewayConfig;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ConfigurationComparisonTest {
    private static final String TEXT = """
            upstreams: {u: {protocol: rest, endpoints: ['127.0.0.1:1']}}
            default_upstream: u
            """;

    /** A text has no models of a cluster: they would all be removed. */
    @Test
    void text_isComparedWithWhatIsWritten_notWithWhatIsDiscovered() throws Exception {
        GatewayConfig written = ConfigLoader.parse("f.yaml", TEXT, Path.of("."));
        ConfigurationPage page = new ConfigurationPage(
                () -> {
                    throw new AssertionError("with what is discovered");
                },
                () -> written,
                null,
                () -> null,
                () -> null);
        JsonNode body = new ObjectMapper().createObjectNode().put("text", TEXT + "limits: {max_hops: 7}");
        AdminRequest request = new AdminRequest("", Map.of(), name -> "", body.toString(), null, false, "", () -> true);
        JsonNode compared = new ObjectMapper().readTree(page.compare(request).body());
        assertThat(compared.path("changes").valueStream().map(JsonNode::asText))
                .containsExactly("limits: max_hops: 5 -> 7");
    }
}
