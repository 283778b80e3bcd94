package dev.isthmus.gateway.logging;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.classic.spi.LoggingEvent;
import ch.qos.logback.classic.spi.StackTraceElementProxy;
import dev.isthmus.gateway.settings.LogArea;
import dev.isthmus.gateway.settings.LoggingConfig.LogFormat;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.slf4j.event.KeyValuePair;

/**
 * An event as one line, whatever its texts contain.
 *
 * @param event its message was formatted already
 * @param repeated the number of events like it that were left out before it; 0 for none
 */
record LogLine(ILoggingEvent event, long repeated) {
    /** Largest message, in characters. */
    private static final int MAX_MESSAGE = 8 * 1024;
    /** Largest value of a member. */
    private static final int MAX_VALUE = 2048;

    private static final int MAX_FRAMES = 64;
    private static final int MAX_CAUSES = 8;
    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSSX").withZone(ZoneOffset.UTC);

    /** The line which says that lines were dropped. */
    static LogLine lost(long lines) {
        LoggingEvent event = new LoggingEvent();
        event.setLoggerName(LogLine.class.getName());
        event.setLevel(Level.WARN);
        event.setThreadName(Thread.currentThread().getName());
        event.setTimeStamp(System.currentTimeMillis());
        event.setMessage(lines + " lines of the log were lost, because standard error is read too slowly; see to what"
                + " reads it");
        return new LogLine(event, 0);
    }

    /** The line, with its end. */
    String in(LogFormat format) {
        return switch (format) {
            case TEXT -> text();
            case JSON -> json();
        };
    }

    private String text() {
        String message = message();
        StringBuilder out = new StringBuilder(message.length() + 128);
        out.append(time())
                .append(' ')
                .append(String.format("%-5s", event.getLevel()))
                .append(' ');
        PlainText.append(out, logger(), false);
        out.append(" - ");
        PlainText.append(out, message, false);
        if (repeated > 0) {
            out.append(" (repeated ").append(repeated).append(" times)");
        }
        members().forEach((name, value) -> member(out, name, value));
        IThrowableProxy thrown = event.getThrowableProxy();
        if (thrown != null) {
            member(out, "stack_trace", stackTrace(thrown));
        }
        return out.append('\n').toString();
    }

    private static void member(StringBuilder out, String name, String value) {
        out.append(' ');
        PlainText.append(out, name, false);
        out.append("=\"");
        PlainText.append(out, value, true);
        out.append('"');
    }

    private String json() {
        StringBuilder out = new StringBuilder(256);
        out.append("{\"time\":\"").append(time()).append("\",\"level\":\"").append(event.getLevel());
        out.append('"');
        string(out, "logger", logger());
        string(out, "thread", String.valueOf(event.getThreadName()));
        string(out, "message", message());
        members().forEach((name, value) -> string(out, name, value));
        if (repeated > 0) {
            out.append(",\"repeated\":").append(repeated);
        }
        IThrowableProxy thrown = event.getThrowableProxy();
        if (thrown != null) {
            string(out, "stack_trace", stackTrace(thrown));
        }
        return out.append("}\n").toString();
    }

    private static void string(StringBuilder out, String name, String value) {
        out.append(",\"");
        PlainText.append(out, name, true);
        out.append("\":\"");
        PlainText.append(out, value, true);
        out.append('"');
    }

    private String time() {
        return TIME.format(Instant.ofEpochMilli(event.getTimeStamp()));
    }

    /** The area, or for a library the name of its logger. */
    private String logger() {
        LogArea area = LogArea.of(event.getLoggerName());
        return area == LogArea.LIBRARIES ? event.getLoggerName() : area.label();
    }

    private String message() {
        return PlainText.cut(String.valueOf(event.getFormattedMessage()), MAX_MESSAGE);
    }

    /** The structured members, in order; of two with one name the last counts. */
    private Map<String, String> members() {
        List<KeyValuePair> pairs = event.getKeyValuePairs();
        if (pairs == null) {
            return Map.of();
        }
        Map<String, String> members = new LinkedHashMap<>();
        for (KeyValuePair pair : pairs) {
            String value = Objects.toString(pair.value, "");
            if (!value.isEmpty()) {
                members.put(pair.key, PlainText.cut(value, MAX_VALUE));
            }
        }
        return members;
    }

    private static String stackTrace(IThrowableProxy thrown) {
        StringBuilder out = new StringBuilder(1024);
        IThrowableProxy next = thrown;
        for (int causes = 0; next != null && causes < MAX_CAUSES; causes++) {
            out.append(causes == 0 ? "" : "\nCaused by: ").append(next.getClassName());
            if (next.getMessage() != null) {
                out.append(": ").append(PlainText.cut(next.getMessage(), MAX_VALUE));
            }
            frames(out, next);
            next = next.getCause();
        }
        return out.toString();
    }

    private static void frames(StringBuilder out, IThrowableProxy thrown) {
        StackTraceElementProxy[] frames = thrown.getStackTraceElementProxyArray();
        int shown = Math.min(frames.length - thrown.getCommonFrames(), MAX_FRAMES);
        for (int i = 0; i < shown; i++) {
            out.append("\n\t").append(frames[i].getSTEAsString());
        }
        if (shown < frames.length) {
            out.append("\n\t... ").append(frames.length - shown).append(" more");
        }
    }

    /** Makes any text safe to stand in a line: nothing in it can end the line, move the cursor or change the direction. */
    private static final class PlainText {
        private PlainText() {}

        /**
         * Appends a text with escapes: {@code \n}, {@code \r}, {@code \t}, {@code \}{@code uXXXX} for all other control and
         * formatting characters, line separators and unpaired surrogates.
         *
         * @param quoted whether the text stands in double quotes, so that those and backslashes are escaped, too
         */
        static void append(StringBuilder out, CharSequence text, boolean quoted) {
            text.codePoints().forEach(point -> {
                switch (point) {
                    case '\n' -> out.append("\\n");
                    case '\r' -> out.append("\\r");
                    case '\t' -> out.append("\\t");
                    case '"', '\\' -> out.append(quoted ? "\\" : "").append((char) point);
                    default -> {
                        if (isUnsafe(Character.getType(point))) {
                            for (char half : Character.toChars(point)) {
                                out.append("\\u").append(HexFormat.of().toHexDigits(half));
                            }
                        } else {
                            out.appendCodePoint(point);
                        }
                    }
                }
            });
        }

        private static boolean isUnsafe(int type) {
            return switch (type) {
                case Character.CONTROL,
                        Character.FORMAT,
                        Character.SURROGATE,
                        Character.LINE_SEPARATOR,
                        Character.PARAGRAPH_SEPARATOR -> true;
                default -> false;
            };
        }

        /** The text, cut after {@code most} characters, with the number of those that are missing. */
        static String cut(String text, int most) {
            return text.length() <= most ? text : text.substring(0, most) + "… (" + (text.length() - most) + " more)";
        }
    }
}
