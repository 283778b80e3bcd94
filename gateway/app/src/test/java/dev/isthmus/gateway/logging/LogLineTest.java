package dev.isthmus.gateway.logging;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.spi.LoggingEvent;
import ch.qos.logback.classic.spi.ThrowableProxy;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.settings.LoggingConfig.LogFormat;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.event.KeyValuePair;

class LogLineTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    private static LoggingEvent event(String message, KeyValuePair... members) {
        LoggingEvent event = new LoggingEvent();
        event.setLoggerName("dev.isthmus.gateway.fleet.Replica");
        event.setLevel(Level.WARN);
        event.setThreadName("main");
        event.setTimeStamp(1_700_000_000_123L);
        event.setMessage(message);
        event.setKeyValuePairs(List.of(members));
        return event;
    }

    private static String line(LoggingEvent event, LogFormat format) {
        return new LogLine(event, 0).in(format);
    }

    /** Also one whose value is a word of the message: it may be there as another member. */
    @Test
    void text_hasMessage_andAllMembers() {
        LoggingEvent event =
                event("server local is away", new KeyValuePair("server", "local"), new KeyValuePair("model", "local"));
        assertThat(line(event, LogFormat.TEXT))
                .isEqualTo("2023-11-14T22:13:20.123Z WARN  fleet - server local is away server=\"local\""
                        + " model=\"local\"\n");
        assertThat(new LogLine(event, 7).in(LogFormat.TEXT)).contains("is away (repeated 7 times) server");
    }

    @Test
    void json_hasAllMembers() throws Exception {
        LoggingEvent event = event(
                "away",
                new KeyValuePair("server", "a:1"),
                new KeyValuePair("model", ""),
                new KeyValuePair("peer", null),
                new KeyValuePair("\"evil\n", "x"));
        event.setThrowableProxy(new ThrowableProxy(new IllegalStateException("one\ntwo", new Exception("cause"))));
        String line = new LogLine(event, 3).in(LogFormat.JSON);
        JsonNode read = JSON.readTree(line);
        assertThat(line).endsWith("}\n").containsOnlyOnce("\n");
        assertThat(read.path("time").asText()).isEqualTo("2023-11-14T22:13:20.123Z");
        assertThat(read.path("level").asText()).isEqualTo("WARN");
        assertThat(read.path("logger").asText()).isEqualTo("fleet");
        assertThat(read.path("thread").asText()).isEqualTo("main");
        assertThat(read.path("message").asText()).isEqualTo("away");
        assertThat(read.path("server").asText()).isEqualTo("a:1");
        assertThat(read.path("\"evil\n").asText()).isEqualTo("x");
        assertThat(read.path("repeated").asLong()).isEqualTo(3);
        assertThat(read.has("model") || read.has("peer")).isFalse();
        assertThat(read.path("stack_trace").asText())
                .startsWith("java.lang.IllegalStateException: one\ntwo\n\tat ")
                .contains("\nCaused by: java.lang.Exception: cause\n");
    }

    @Test
    void logger_ofALibrary_keepsItsName() {
        LoggingEvent event = event("x");
        event.setLoggerName("io.netty.util.Leak");
        assertThat(line(event, LogFormat.TEXT)).contains(" io.netty.util.Leak - x");
    }

    /** Each character there is, in a message, a member and the text of an exception. */
    @ParameterizedTest
    @EnumSource(LogFormat.class)
    void anyCharacter_staysInItsLine(LogFormat format) throws Exception {
        for (int point = 0; point <= Character.MAX_CODE_POINT; point += point < 0x3100 ? 1 : 97) {
            String text = "a" + Character.toString(point) + "b";
            LoggingEvent event = event(text, new KeyValuePair("peer", text + "!"));
            String line = line(event, format);
            assertThat(line.strip().codePoints()).noneMatch(LogLineTest::unsafe);
            assertThat(line.indexOf('\n')).isEqualTo(line.length() - 1);
            if (format == LogFormat.JSON) {
                assertThat(JSON.readTree(line).path("message").asText()).isEqualTo(text);
                assertThat(JSON.readTree(line).path("peer").asText()).isEqualTo(text + "!");
            }
        }
    }

    private static boolean unsafe(int point) {
        return switch (Character.getType(point)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR,
                    Character.SURROGATE -> true;
            default -> false;
        };
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "one\nERROR forged",
                "one\r\nforged",
                "one\rforged",
                "one\u0085forged",
                "one\u2028forged",
                "one\u2029forged",
                "\u001b[2K\u001b[1Aforged",
                "\u009b31mforged",
                "\u202eforged",
                "\ud800forged",
                "\udc00"
            })
    void forgedLines_areEscaped(String text) {
        LoggingEvent event = event(text, new KeyValuePair("request_id", text));
        event.setThrowableProxy(new ThrowableProxy(new IllegalStateException(text)));
        for (LogFormat format : LogFormat.values()) {
            String line = line(event, format);
            assertThat(line.lines()).hasSize(1);
            assertThat(line.strip().codePoints()).noneMatch(LogLineTest::unsafe);
        }
    }

    @Test
    void textsOfAnyLength_areCut() {
        LoggingEvent event = event("m".repeat(100_000), new KeyValuePair("peer", "p".repeat(100_000)));
        event.setThrowableProxy(new ThrowableProxy(deep(new Exception("x".repeat(100_000)), 50)));
        assertThat(line(event, LogFormat.JSON)).hasSizeLessThan(120_000).contains("… (91808 more)");
    }

    private static Throwable deep(Throwable cause, int depth) {
        return depth == 0 ? cause : deep(new Exception("c", cause), depth - 1);
    }
}
