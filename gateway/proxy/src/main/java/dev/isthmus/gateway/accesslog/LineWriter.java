package dev.isthmus.gateway.accesslog;

import dev.isthmus.transcoder.json.JsonWriter;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Writes lines of JSON objects. Members whose value is null, empty or negative are left out. */
final class LineWriter {
    private static final DateTimeFormatter SECOND =
            DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.").withZone(ZoneOffset.UTC);
    private static final int MICROS_OF_MILLI = 1000;
    private static final int FIRST_BYTES = 16 << 10;

    private final JsonWriter json = new JsonWriter(new UnpooledByteBufAllocator(false));
    private long second = Long.MIN_VALUE;
    private String secondText = "";

    void begin() {
        json.open('{');
    }

    void end() {
        json.close('}');
        json.endLine();
    }

    void beginObject(String name) {
        json.key(name).open('{');
    }

    void endObject() {
        json.close('}');
    }

    void text(String name, @Nullable String value) {
        if (value != null && !value.isEmpty()) {
            json.key(name).text(value);
        }
    }

    void texts(String name, List<String> values) {
        json.key(name).open('[');
        values.forEach(json::text);
        json.close(']');
    }

    void number(String name, long value) {
        if (value >= 0) {
            json.key(name).raw(Long.toString(value));
        }
    }

    /** Writes nanoseconds as milliseconds with three decimals. */
    void milliseconds(String name, long nanos) {
        if (nanos >= 0) {
            long micros = nanos / 1000;
            json.key(name).raw(micros / MICROS_OF_MILLI + "." + decimals(micros % MICROS_OF_MILLI));
        }
    }

    /** Writes a time in milliseconds since 1970 as RFC 3339 has it, in UTC. */
    void time(String name, long millis) {
        long now = Math.floorDiv(millis, 1000L);
        if (now != second) {
            second = now;
            secondText = SECOND.format(Instant.ofEpochSecond(now));
        }
        json.key(name).raw('"' + secondText + decimals(Math.floorMod(millis, 1000)) + "Z\"");
    }

    private static String decimals(long thousandths) {
        return thousandths < 10
                ? "00" + thousandths
                : thousandths < 100 ? "0" + thousandths : Long.toString(thousandths);
    }

    /** Number of bytes written and not yet taken. */
    int bytes() {
        return json.out().readableBytes();
    }

    /** Takes the lines, owned by the caller. */
    ByteBuf take() {
        return json.takePart(FIRST_BYTES);
    }
}
