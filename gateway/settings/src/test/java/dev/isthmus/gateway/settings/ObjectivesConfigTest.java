package dev.isthmus.gateway.settings;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ObjectivesConfigTest {
    private static ModelConfig read(String keys) throws ConfigException {
        String yaml = "local: {embedded_models: true}\nmodels:\n  m:\n    upstream: local\n    " + keys + "\n";
        return Objects.requireNonNull(
                ConfigLoader.parse("f.yaml", yaml, Path.of(".")).models().get("m"));
    }

    private static List<String> problems(String keys) {
        return catchThrowableOfType(ConfigException.class, () -> read(keys)).problems();
    }

    @Test
    void objectives_areRead_eachAlone() throws Exception {
        assertThat(read("").objectives()).isNull();
        assertThat(read("objectives: {availability: 99.95%}").objectives())
                .isEqualTo(new ObjectivesConfig(0.9995, null, null));
        assertThat(read("objectives: {latency: 99%, latency_within: 250ms}").objectives())
                .isEqualTo(new ObjectivesConfig(null, 0.99, Duration.ofMillis(250)));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', textBlock = """
            objectives: {availability: 100%} | f.yaml:5:32: model 'm': objectives: availability: more than 0% and less than 100% is expected, got '100%'
            objectives: {availability: 0%} | f.yaml:5:32: model 'm': objectives: availability: more than 0% and less than 100% is expected, got '0%'
            objectives: {availability: 101%} | objectives: availability: a share such as 20% or 0.5% is expected, got '101%'
            objectives: {availability: 0.999} | objectives: availability: a share such as 20% or 0.5% is expected, got '0.999'
            objectives: {latency: 100%, latency_within: 1s} | f.yaml:5:27: model 'm': objectives: latency: more than 0% and less than 100%
            objectives: {latency: 99%, latency_within: 0s} | objectives: latency_within
            objectives: {} | f.yaml:5:17: model 'm': objectives: 'availability', or 'latency' together with 'latency_within', is expected
            objectives: {latency: 99%} | 'latency' together with 'latency_within', is expected
            objectives: {availability: 99%, latency_within: 1s} | 'latency' together with 'latency_within', is expected
            objectives: {avalability: 99%} | unknown key 'avalability' in model 'm': objectives - did you mean 'availability'?
            objectives: {availability: 99%, availability: 98%} | key 'availability' is given twice in model 'm': objectives
            """)
    void objectivesThatCannotBe_areRefusedWithTheirPlace(String keys, String problem) {
        assertThat(problems(keys)).singleElement().asString().contains(problem);
    }

    /** Objectives are in the section of a route: there are none of a model that is not routed, nor two of one. */
    @Test
    void objectivesOfAnUnknownPattern_areNoRoute() {
        assertThat(catchThrowableOfType(
                                ConfigException.class,
                                () -> ConfigLoader.parse(
                                        "f.yaml",
                                        "{default_upstream: local, local: {embedded_models: true}, models: {'x-*': {objectives:"
                                                + " {availability: 99%}}}}",
                                        Path.of(".")))
                        .problems())
                .singleElement()
                .asString()
                .contains("model 'x-*': 'upstream' or 'targets' is expected");
    }
}
