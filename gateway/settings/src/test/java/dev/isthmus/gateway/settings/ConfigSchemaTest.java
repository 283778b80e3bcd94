package dev.isthmus.gateway.settings;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.util.DefaultIndenter;
import com.fasterxml.jackson.core.util.DefaultPrettyPrinter;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import com.networknt.schema.Error;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;
import org.junit.jupiter.params.provider.MethodSource;

class ConfigSchemaTest {
    private static final Schema SCHEMA = SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_2020_12)
            .getSchema(ConfigSchema.text());

    private static List<Error> errors(String yaml) throws IOException {
        return SCHEMA.validate(new YAMLMapper().readTree(yaml));
    }

    @Test
    void committedSchema_isTheGeneratedOne() throws IOException {
        Generated.check(Generated.ROOT.resolve("config/isthmus.schema.json"), ConfigSchema.text());
    }

    /** With the other values of the chart as they are. */
    @Test
    void chartsSchema_hasThisOneForItsConfig() throws IOException {
        Path file = Generated.ROOT.resolve("deploy/helm/isthmus/values.schema.json");
        ObjectMapper json = new ObjectMapper();
        // Helm's regular expressions have no look-ahead.
        ObjectNode config = (ObjectNode) json.readTree(ConfigSchema.text().replace("(?=.*[1-9])", ""));
        ObjectNode values = (ObjectNode) json.readTree(file.toFile());
        values.set("$defs", config.remove("$defs"));
        config.remove(List.of("$schema", "title"));
        config.put("type", "object").putArray("required").add("listeners");
        ((ObjectNode) values.get("properties")).set("config", config);
        DefaultPrettyPrinter lines = new DefaultPrettyPrinter().withObjectIndenter(new DefaultIndenter("  ", "\n"));
        Generated.check(file, json.writer(lines).writeValueAsString(values) + "\n");
    }

    @Test
    void schema_isOneItself() throws IOException {
        Schema meta = SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_2020_12)
                .getSchema(com.networknt.schema.SchemaLocation.of("https://json-schema.org/draft/2020-12/schema"));
        assertThat(meta.validate(new ObjectMapper().readTree(ConfigSchema.text())))
                .isEmpty();
    }

    @Test
    void everyKey_isDescribed() throws IOException {
        JsonNode schema = new ObjectMapper().readTree(ConfigSchema.text());
        List<String> bare = new ArrayList<>();
        for (JsonNode section : List.of(schema, schema.get("$defs"))) {
            section.findValues("properties")
                    .forEach(properties -> properties.properties().forEach(property -> {
                        if (!property.getValue().has("description")) {
                            bare.add(property.getKey());
                        }
                    }));
        }
        assertThat(bare).isEmpty();
    }

    @ParameterizedTest
    @MethodSource("dev.isthmus.gateway.settings.ExamplesTest#examples")
    void example_conforms(Path file) throws IOException {
        assertThat(errors(Files.readString(file))).isEmpty();
    }

    @ParameterizedTest
    @FieldSource("dev.isthmus.gateway.settings.ConfigSamples#GOOD")
    void sample_conforms(String yaml) throws IOException {
        assertThat(errors(yaml)).isEmpty();
    }

    @ParameterizedTest
    @MethodSource("dev.isthmus.gateway.settings.ConfigSamples#malformed")
    void malformedValue_doesNotConform(String yaml, String problem) throws IOException {
        assertThat(errors(yaml)).as(problem).isNotEmpty();
    }
}
