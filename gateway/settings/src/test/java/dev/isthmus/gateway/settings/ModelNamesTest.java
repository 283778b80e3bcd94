package dev.isthmus.gateway.settings;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.settings.ModelNames.Match;
import dev.isthmus.gateway.settings.ModelNames.MatchKind;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ModelNamesTest {

    private static ModelNames names() throws ConfigException {
        return new ModelNames(ConfigLoader.parse("f", """
                        local: {embedded_models: true}
                        models:
                          llm-7b: {upstream: local, aliases: [llm-small]}
                          "llm-*": {upstream: local}
                          "llm-*-chat": {upstream: local}
                          "*-chat": {upstream: local}
                          "b*": {upstream: local}
                          "*a": {upstream: local}
                        """, Path.of(".")).models());
    }

    @ParameterizedTest
    @CsvSource({
        "llm-7b,llm-7b,NAME",
        "llm-small,llm-7b,ALIAS",
        "llm-70b,llm-*,PATTERN",
        "llm-70b-chat,llm-*-chat,PATTERN",
        "x-chat,*-chat,PATTERN",
        "ba,*a,PATTERN"
    })
    void name_isTakenByTheNearest(String name, String key, MatchKind by) throws ConfigException {
        assertThat(names().find(name)).contains(new Match(key, by));
    }

    @Test
    void name_thatNothingTakes_isNotFound() throws ConfigException {
        assertThat(names().find("xyz")).isEmpty();
    }
}
