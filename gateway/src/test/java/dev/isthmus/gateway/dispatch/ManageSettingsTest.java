package dev.isthmus.gateway.dispatch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.core.JsonProcessingException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ManageSettingsTest {

    private static ByteBuf body(String text) {
        return Unpooled.wrappedBuffer(text.getBytes(StandardCharsets.UTF_8));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"", " ", "{}", "[1, {\"a\": [null, true]}]", "\"text\"", "1.5", "null", " {\"a\": \"\\u00e9\"} "
            })
    void oneValueOrNothing_isJson(String text) throws Exception {
        ByteBuf body = body(text);
        ManageSettings.requireJson(body);
        assertThat(body.toString(StandardCharsets.UTF_8)).isEqualTo(text);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"{", "[1", "{\"a\"}", "{\"a\": 1,}", "{} {}", "1 2", "{}]", "tru", "\"open", "{'a': 1}", "01"})
    void anythingElse_isNone(String text) {
        ByteBuf body = body(text);
        assertThatThrownBy(() -> ManageSettings.requireJson(body)).isInstanceOf(JsonProcessingException.class);
    }

    @Test
    void depth_isLimited() {
        ByteBuf deep = body("[".repeat(1000) + "]".repeat(1000));
        assertThatCode(() -> ManageSettings.requireJson(deep)).doesNotThrowAnyException();
        ByteBuf tooDeep = body("[".repeat(1001) + "]".repeat(1001));
        assertThatThrownBy(() -> ManageSettings.requireJson(tooDeep)).hasMessageContaining("1000");
    }
}
