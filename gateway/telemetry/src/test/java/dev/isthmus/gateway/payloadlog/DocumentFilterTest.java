package dev.isthmus.gateway.payloadlog;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.gateway.payloadlog.DocumentFilter.FilteredDocument;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.PayloadLogConfig.OmittedPayload;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DocumentFilterTest {
    private static final DocumentFilter ALL = new DocumentFilter(DefaultValues.of(OmittedPayload.class));
    private static final DocumentFilter SOME =
            new DocumentFilter(new OmittedPayload(Set.of("text_input"), Set.of("token")));

    private static ByteBuf bytes(String text) {
        return Unpooled.copiedBuffer(text, StandardCharsets.UTF_8);
    }

    private static String text(FilteredDocument document) {
        return new String(document.bytes(), StandardCharsets.UTF_8);
    }

    @Test
    void document_isOnOneLine_withItsDigits() throws IOException {
        String document = "{\"a\" :\n 1.10, \"b\":[12345678901234567890, 1e400, NaN, null, true, \"\u00fc\\n\"]}\n";
        assertThat(text(ALL.json(bytes(document))))
                .isEqualTo("{\"a\":1.10,\"b\":[12345678901234567890,1E+400,\"NaN\",null,true,\"\u00fc\\n\"]}");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            {"text_input":"x","k":1}                             | {"k":1}                             | true
            {"k":{"text_input":{"token":[{}]},"token":{"a":1}}}  | {"k":{"text_input":{}}}             | false
            {"token":"x","parameters":{"token":1,"p":[{"token":2}]}} | {"parameters":{"p":[{}]}}       | false
            {"inputs":[{"name":"text_input"}],"id":"i"}          | {"id":"i"}                          | true
            {"outputs":[],"a":{"inputs":1}}                      | {"a":{"inputs":1}}                  | true
            {}                                                   | {}                                  | false
            """)
    void omittedNames_areGone(String document, String left, boolean tensors) throws IOException {
        FilteredDocument filtered = SOME.json(bytes(document));
        assertThat(text(filtered)).isEqualTo(left);
        assertThat(filtered.tensorsOmitted()).isEqualTo(tensors);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "{", "[]", "1", "{}{}", "{} x", "{\"a\":}", "{\"a\":1]"})
    void whatIsNotOneObject_isRefused(String document) {
        assertThatThrownBy(() -> ALL.json(bytes(document))).isInstanceOf(IOException.class);
        assertThatThrownBy(() -> SOME.events(bytes("data: " + (document.isEmpty() ? "x" : document) + "\n\n")))
                .isInstanceOf(IOException.class);
    }

    @Test
    void events_areFilteredOnlyIfSomethingIsToBeLeftOut() throws IOException {
        String events =
                "id: 1\r\ndata:{\"text_input\":1,\r\ndata: \"b\":2}\r\n\r\n: x\ndata: [DONE]\n\ndata: {\"c\":3}";
        assertThat(text(ALL.events(bytes(events)))).isEqualTo(events);
        FilteredDocument filtered = SOME.events(bytes(events));
        assertThat(text(filtered)).isEqualTo("id: 1\ndata: {\"b\":2}\n\n: x\ndata: [DONE]\n\ndata: {\"c\":3}\n");
        assertThat(filtered.tensorsOmitted()).isTrue();
    }
}
