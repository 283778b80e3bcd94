package dev.isthmus.gateway.batching;

import dev.isthmus.gateway.batching.JoinCodec.RowOwners;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.json.JsonException;
import dev.isthmus.transcoder.json.JsonToken;
import dev.isthmus.transcoder.json.JsonTokenizer;
import dev.isthmus.transcoder.json.JsonWriter;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Divides the text of a JSON response: each part is the server's text, except for the id, the first dimensions, and the
 * elements of other rows. What is not as expected, or not JSON, is not divided; nothing else is checked here.
 */
final class JsonRows {
    private final JsonTokenizer json;
    private final int length;
    private final RowOwners owners;
    private final int rows;
    private final List<ReplacedText> replaced = new ArrayList<>();
    private boolean expected = true;

    /** The part of a request. */
    private record RequestRows(int index, int first, int count) {}

    /** A range of the text that differs between the parts. */
    private record ReplacedText(int from, int to, PartWriter writer) {}

    private interface PartWriter {
        void write(ByteBuf out, RequestRows part);
    }

    private JsonRows(ByteBuf text, WireLimits limits, RowOwners owners) {
        this.json = JsonTokenizer.of(limits);
        this.length = text.readableBytes();
        this.owners = owners;
        this.rows = owners.total();
        json.feed(text, text.readerIndex(), length);
        json.last();
    }

    /**
     * The parts of a response.
     *
     * @param text borrowed
     * @return null if it does not have a row for each row, or is not as expected
     */
    static @Nullable List<InferMessage> split(
            ByteBufAllocator allocator, ByteBuf text, WireLimits limits, RowOwners owners) {
        JsonRows all = new JsonRows(text, limits, owners);
        try {
            all.response();
        } catch (JsonException malformed) {
            return null;
        }
        return all.expected ? all.parts(allocator) : null;
    }

    private List<InferMessage> parts(ByteBufAllocator allocator) {
        List<InferMessage> parts = new ArrayList<>();
        int first = 0;
        try {
            for (int i = 0; i < owners.rows().size(); i++) {
                RequestRows part = new RequestRows(i, first, owners.rows().get(i));
                ByteBuf out = allocator.buffer(length / rows * part.count() + 256);
                parts.add(new InferMessage.RestMessage(new RestBody(out, RestBody.ALL_JSON)));
                write(out, part);
                first += part.count();
            }
            return parts;
        } catch (RuntimeException | OutOfMemoryError e) {
            parts.forEach(InferMessage::release);
            throw e;
        }
    }

    private void write(ByteBuf out, RequestRows part) {
        int copied = 0;
        for (ReplacedText each : replaced) {
            out.writeBytes(json.window(), copied, each.from() - copied);
            each.writer().write(out, part);
            copied = each.to();
        }
        out.writeBytes(json.window(), copied, length - copied);
    }

    private void response() {
        expect(json.next() == JsonToken.START_OBJECT);
        boolean outputs = false;
        while (expected && json.next() == JsonToken.KEY) {
            switch (json.text()) {
                case "id" -> id();
                case "outputs" -> {
                    outputs = true;
                    outputs();
                }
                default -> value(json.next());
            }
        }
        expect(outputs && json.next() == JsonToken.END);
    }

    /** A null is left as it is. */
    private void id() {
        JsonToken token = json.next();
        int from = value(token);
        if (token == JsonToken.STRING && json.position() > from + 2) {
            replaced.add(new ReplacedText(from, json.position(), this::writeId));
        }
    }

    private void writeId(ByteBuf out, RequestRows part) {
        JsonWriter text = new JsonWriter(out.alloc());
        try {
            out.writeBytes(text.text(owners.id(part.index(), "given")).out());
        } finally {
            text.release();
        }
    }

    private void outputs() {
        expect(json.next() == JsonToken.START_ARRAY);
        while (expected && json.next() == JsonToken.START_OBJECT) {
            boolean shape = false;
            boolean data = false;
            while (expected && json.next() == JsonToken.KEY) {
                switch (json.text()) {
                    case "shape" -> {
                        shape();
                        shape = true;
                    }
                    case "data" -> {
                        data();
                        data = true;
                    }
                    default -> value(json.next());
                }
            }
            expect(shape && data);
        }
    }

    private void shape() {
        expect(json.next() == JsonToken.START_ARRAY
                && json.next() == JsonToken.NUMBER
                && json.token().equals(Integer.toString(rows)));
        if (expected) {
            replaced.add(new ReplacedText(
                    json.tokenStart(),
                    json.tokenEnd(),
                    (out, part) -> ByteBufUtil.writeAscii(out, Integer.toString(part.count()))));
            skip();
        }
    }

    private void data() {
        expect(json.next() == JsonToken.START_ARRAY);
        IntStream.Builder starts = IntStream.builder();
        IntStream.Builder ends = IntStream.builder();
        for (JsonToken token = json.next(); expected && token != JsonToken.END_ARRAY; token = json.next()) {
            starts.add(value(token));
            ends.add(json.position());
        }
        int[] from = starts.build().toArray();
        int[] to = ends.build().toArray();
        expect(from.length > 0 && from.length % rows == 0);
        if (expected) {
            int perRow = from.length / rows;
            replaced.add(new ReplacedText(from[0], to[to.length - 1], (out, part) -> {
                int first = from[part.first() * perRow];
                out.writeBytes(json.window(), first, to[(part.first() + part.count()) * perRow - 1] - first);
            }));
        }
    }

    /** Reads the value that begins with a token. Returns where it begins. */
    private int value(JsonToken token) {
        switch (token) {
            case START_OBJECT, START_ARRAY -> {
                int from = json.position() - 1;
                skip();
                return from;
            }
            case STRING -> {
                return json.tokenStart() - 1;
            }
            default -> {
                return json.tokenStart();
            }
        }
    }

    /** Reads up to the end of the array or object that has begun. */
    private void skip() {
        int depth = json.depth();
        while (json.depth() >= depth) {
            json.next();
        }
    }

    private void expect(boolean holds) {
        expected &= holds;
    }
}
