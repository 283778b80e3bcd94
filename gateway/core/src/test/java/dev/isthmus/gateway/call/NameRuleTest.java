package dev.isthmus.gateway.call;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.settings.NameGrammar;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class NameRuleTest {

    @ParameterizedTest
    @ValueSource(
            strings = {
                "m",
                "resnet-50_v1.5",
                "meta-llama:8b@prod+int8",
                "my model",
                "...",
                ".hidden",
                "100%",
                "50%off",
                "modèle",
                "模型",
                "a;b?c#d",
                "[::1]"
            })
    void oneSegmentOfAPath_isAName(String name) {
        assertThat(NameGrammar.holds(name)).isTrue();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                ".",
                "..",
                "a/b",
                "versioned/versions/v2",
                "../x",
                "a\\b",
                "a\0b",
                "a\r\nb",
                "a\u007f",
                "a\u0085b",
                "a\u2028b",
                "a%2fb",
                "a%2F",
                "%2e%2e",
                "\ud800"
            })
    void whatAServerMayReadOtherwise_isNone(String name) {
        assertThat(NameGrammar.holds(name)).isFalse();
    }

    @Test
    void length_isCountedInBytes() {
        assertThat(NameGrammar.holds("a".repeat(255))).isTrue();
        assertThat(NameGrammar.holds("a".repeat(256))).isFalse();
        assertThat(NameGrammar.holds("模".repeat(85))).isTrue();
        assertThat(NameGrammar.holds("模".repeat(86))).isFalse();
    }

    @Test
    void brokenRule_isReportedWithTheValue() {
        assertThatThrownBy(() -> NameGrammar.check("model name", "a\r\nb"))
                .isInstanceOfSatisfying(
                        OipException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT))
                .hasMessage("model name 'a\\u000d\\u000ab': 1 to 255 bytes are expected, without '/', '\\', control"
                        + " characters and percent escapes, and not '.' or '..'");
        assertThatThrownBy(() -> NameGrammar.check("model version", "/".repeat(10_000)))
                .hasMessageStartingWith("model version '" + "/".repeat(64) + "...': ");
    }

    @Test
    void version_mayBeMissing_andElseObeysTheRule() {
        assertThat(NameGrammar.checked(ModelRef.of("m"))).isEqualTo(ModelRef.of("m"));
        assertThatThrownBy(() -> NameGrammar.checked(new ModelRef("m", "1/../../x")))
                .hasMessageStartingWith("model version '1/../../x': ");
    }

    @ParameterizedTest
    @EnumSource
    void managedModel_obeysTheRule_andIsMissingOnlyWhereTheServerIsMeant(Extension extension) {
        assertThatThrownBy(() -> new Operation.Manage(extension, ModelRef.of("a/b"), "", false, false, false))
                .isInstanceOf(OipException.class);
        var ofServer = assertThatCode(() -> new Operation.Manage(extension, ModelRef.of(""), "", false, false, false));
        switch (extension) {
            case MODEL_CONFIG, REPOSITORY_LOAD, REPOSITORY_UNLOAD -> ofServer.isInstanceOf(OipException.class);
            default -> ofServer.doesNotThrowAnyException();
        }
    }
}
