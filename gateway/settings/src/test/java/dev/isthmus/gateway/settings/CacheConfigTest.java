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

class CacheConfigTest {

    private static CacheConfig read(String cache) throws ConfigException {
        GatewayConfig config = ConfigLoader.parse("f.yaml", yaml(cache), Path.of("."));
        return Objects.requireNonNull(
                Objects.requireNonNull(config.models().get("m")).cache());
    }

    private static String yaml(String cache) {
        return "local: {embedded_models: true}\nmodels:\n  m:\n    upstream: local\n    cache: " + cache + "\n";
    }

    private static List<String> problems(String cache) {
        return catchThrowableOfType(ConfigException.class, () -> read(cache)).problems();
    }

    @Test
    void emptySection_hasDefaults() throws Exception {
        assertThat(read("{}"))
                .isEqualTo(CacheConfig.DEFAULT)
                .returns(Duration.ofMinutes(1), CacheConfig::ttl)
                .returns(true, CacheConfig::singleflight);
    }

    @Test
    void zeroTtl_leavesSingleflight() throws Exception {
        assertThat(read("{ttl: 0s}").ttl()).isZero();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            {parameters: [a, sequence_id]} | f.yaml:5:29: model 'm': cache: parameters: 'sequence_id' cannot distinguish requests: those of sequences are never cached
            {parameters: [binary_data_output]} | concerns only the form of a message
            {parameters: [a, a]} | parameters: 'a' is there twice: one is expected
            {parameters: ['']} | f.yaml:5:26: model 'm': cache: parameter: text is expected, got ''
            {headers: [X-Request-ID]} | f.yaml:5:23: model 'm': cache: headers: 'x-request-id' cannot distinguish requests: it differs from call to call
            {headers: [x-isthmus-principal]} | the gateway sets it; 'caller: true' distinguishes callers
            {headers: ['bad name']} | f.yaml:5:23
            {caller: true} | f.yaml:5:21: model 'm': cache: caller: requires a section 'authentication'
            {ttl: 0s, singleflight: false} | f.yaml:5:36: model 'm': cache: 'ttl' above 0s or 'singleflight: true' is expected
            {ttl: -1s} | f.yaml:5:18: model 'm': cache: ttl
            {key: [tier]} | f.yaml:5:13
            """)
    void partsThatCannotBe_areRefusedWithTheirPlace(String cache, String problem) {
        assertThat(problems(cache)).singleElement().asString().contains(problem);
    }
}
