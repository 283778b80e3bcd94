package dev.isthmus.gateway.settings;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import java.io.IOException;
import org.junit.jupiter.api.Test;

/** The hooks that other repositories use with pre-commit. */
class PreCommitHooksTest {
    private static JsonNode hooks() throws IOException {
        return new YAMLMapper()
                .readTree(Generated.ROOT.resolve(".pre-commit-hooks.yaml").toFile());
    }

    @Test
    void hooks_haveWhatIsRequired_andOneConfigurationIsOneCall() throws IOException {
        assertThat(hooks().findValuesAsText("id")).containsExactly("isthmus-validate", "isthmus-validate-build");
        for (JsonNode hook : hooks()) {
            assertThat(hook.path("name").asText()).isNotEmpty();
            assertThat(hook.path("entry").asText()).isEqualTo("isthmus validate");
            assertThat(hook.path("language").asText()).isIn("system", "script");
            assertThat(hook.path("pass_filenames").asBoolean(true)).isFalse();
        }
    }

    /** Of a hook in the language script, pre-commit runs this file of the checkout. */
    @Test
    void scriptOfTheCheckout_isExecutable() {
        assertThat(Generated.ROOT.resolve("isthmus")).isExecutable();
    }
}
