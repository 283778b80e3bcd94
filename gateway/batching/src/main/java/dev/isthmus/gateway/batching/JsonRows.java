package dev.isthmus.gateway.batching;

import dev.isthmus.gateway.batching.JoinCodec.RowOwners;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.json.JsonWriter;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Divides the text of a JSON response: each part is the server's text, except for the id, the first dimensions, and the
 * elements of other rows. What is not as expected, or not JSON, is not divided; nothing else is checked here.
 */
final class JsonRows {
    private final byte[] text;
    private final int rows;
    private final List<ReplacedText> replaced = new ArrayList<>();
    private int at;

    /** A range of the text that differs between the parts. */
    private sealed interface ReplacedText {
        int from();

        int to();

        /** The response's id, with its quotes. */
        record Id(int from, int to) implements ReplacedText {}

        /** The first dimension of a shape. */
        record FirstExtent(int from, int to) implements ReplacedText {}

        /** The elements of an output: where each row starts and ends. */
        record RowElements(List<Integer> starts, List<Integer> ends) implements ReplacedText {
            @Override
            public int from() {
                return starts.getFirst();
            }

            @Override
            public int to() {
                return ends.getLast();
            }
        }
    }

    private JsonRows(byte[] text, int rows) {
        this.text = text;
        this.rows = rows;
    }

    /**
     * The parts of a response.
     *
     * @param json borrowed
     * @return null if it does not have a row for each row, or is not as expected
     */
    static @Nullable List<InferMessage> split(ByteBufAllocator allocator, ByteBuf json, RowOwners owners) {
        var rows = new JsonRows(ByteBufUtil.getBytes(json), owners.total());
        try {
            rows.response();
        } catch (OipException | IndexOutOfBoundsException unexpected) {
            return null;
        }
        List<InferMessage> parts = new ArrayList<>();
        int first = 0;
        try {
            for (int i = 0; i < owners.rows().size(); i++) {
                int count = owners.rows().get(i);
                ByteBuf part = rows.part(allocator, owners.ids().get(i), first, count);
                parts.add(new InferMessage.RestMessage(new RestBody(part, RestBody.ALL_JSON)));
                first += count;
            }
            return parts;
        } catch (RuntimeException | OutOfMemoryError e) {
            parts.forEach(InferMessage::release);
            throw e;
        }
    }

    private ByteBuf part(ByteBufAllocator allocator, String id, int firstRow, int count) {
        ByteBuf part = allocator.buffer(text.length / rows * count + 256);
        try {
            write(part, id, firstRow, count);
            return part;
        } catch (RuntimeException | OutOfMemoryError e) {
            part.release();
            throw e;
        }
    }

    private void write(ByteBuf part, String id, int firstRow, int count) {
        int copied = 0;
        for (ReplacedText each : replaced) {
            part.writeBytes(text, copied, each.from() - copied);
            switch (each) {
                case ReplacedText.Id _ -> id(part, DecodedParts.id("given", id));
                case ReplacedText.FirstExtent _ -> ByteBufUtil.writeAscii(part, Integer.toString(count));
                case ReplacedText.RowElements elements -> {
                    int from = elements.starts().get(firstRow);
                    part.writeBytes(text, from, elements.ends().get(firstRow + count - 1) - from);
                }
            }
            copied = each.to();
        }
        part.writeBytes(text, copied, text.length - copied);
    }

    private static void id(ByteBuf out, String id) {
        JsonWriter json = new JsonWriter(out.alloc());
        try {
            out.writeBytes(json.text(id).out());
        } finally {
            json.release();
        }
    }

    private void response() {
        boolean outputs = false;
        expect('{');
        while (next('}')) {
            String key = key();
            if (key.equals("id")) {
                id();
            } else if (key.equals("outputs")) {
                outputs = true;
                outputs();
            } else {
                skipValue();
            }
        }
        space();
        if (at != text.length || !outputs) {
            throw unexpected();
        }
    }

    /** A null is left as it is. */
    private void id() {
        space();
        int from = at;
        skipValue();
        if (text[from] == '"' && at > from + 2) {
            replaced.add(new ReplacedText.Id(from, at));
        }
    }

    private void outputs() {
        expect('[');
        while (next(']')) {
            boolean shape = false;
            boolean data = false;
            expect('{');
            while (next('}')) {
                switch (key()) {
                    case "shape" -> {
                        shape();
                        shape = true;
                    }
                    case "data" -> {
                        data();
                        data = true;
                    }
                    default -> skipValue();
                }
            }
            if (!shape || !data) {
                throw unexpected();
            }
        }
    }

    private void shape() {
        expect('[');
        space();
        int from = at;
        skipValue();
        if (!new String(text, from, at - from, StandardCharsets.US_ASCII).equals(Integer.toString(rows))) {
            throw unexpected();
        }
        replaced.add(new ReplacedText.FirstExtent(from, at));
        while (next(']')) {
            skipValue();
        }
    }

    private void data() {
        expect('[');
        int begin = at;
        int count = elements(null, 1);
        if (count == 0 || count % rows != 0) {
            throw unexpected();
        }
        at = begin;
        var found = new ReplacedText.RowElements(new ArrayList<>(rows), new ArrayList<>(rows));
        elements(found, count / rows);
        replaced.add(found);
    }

    /** Skips the elements of an array up to its end, and notes where rows of so many begin and end. */
    private int elements(ReplacedText.@Nullable RowElements found, int perRow) {
        int count = 0;
        while (next(']')) {
            space();
            int from = at;
            skipValue();
            if (found != null && count % perRow == 0) {
                found.starts().add(from);
            }
            count++;
            if (found != null && count % perRow == 0) {
                found.ends().add(at);
            }
        }
        return count;
    }

    private String key() {
        space();
        int from = at + 1;
        string();
        String key = new String(text, from, at - 1 - from, StandardCharsets.UTF_8);
        expect(':');
        return key;
    }

    private void skipValue() {
        space();
        switch (text[at]) {
            case '"' -> string();
            case '{', '[' -> nested();
            default -> {
                while (",]}".indexOf(text[at]) < 0 && text[at] > ' ') {
                    at++;
                }
            }
        }
    }

    private void nested() {
        int depth = 0;
        do {
            switch (text[at]) {
                case '"' -> string();
                case '{', '[' -> {
                    depth++;
                    at++;
                }
                case '}', ']' -> {
                    depth--;
                    at++;
                }
                default -> at++;
            }
        } while (depth > 0);
    }

    private void string() {
        expect('"');
        while (text[at] != '"') {
            at += text[at] == '\\' ? 2 : 1;
        }
        at++;
    }

    private void expect(char expected) {
        space();
        if (text[at] != expected) {
            throw unexpected();
        }
        at++;
    }

    /** Whether there is a next member or element; it begins behind the comma. Otherwise the end is skipped. */
    private boolean next(char end) {
        space();
        if (text[at] == end) {
            at++;
            return false;
        }
        at += text[at] == ',' ? 1 : 0;
        return true;
    }

    private void space() {
        while (at < text.length && text[at] <= ' ' && text[at] >= 0) {
            at++;
        }
    }

    private static OipException unexpected() {
        return new OipException(ErrorCode.BAD_UPSTREAM_ANSWER, "outputs with a row for each row are expected");
    }
}
