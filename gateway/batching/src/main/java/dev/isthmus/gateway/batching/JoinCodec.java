package dev.isthmus.gateway.batching;

import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.ResponseForm;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.json.JsonException;
import dev.isthmus.transcoder.json.JsonToken;
import dev.isthmus.transcoder.json.JsonTokenizer;
import dev.isthmus.transcoder.json.JsonWriter;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.protobuf.ProtobufReader;
import dev.isthmus.transcoder.protobuf.ProtobufWriter;
import dev.isthmus.transcoder.rest.OutputForms;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestRequest;
import dev.isthmus.transcoder.rest.RestRequestReader;
import dev.isthmus.transcoder.rest.RestWriter;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.CompositeByteBuf;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Reads the requests to be joined, and divides the responses, on the wire of their server. JSON is divided as text
 * ({@link JsonRows}), so that each part has the server's digits; other responses are decoded, and each part written in
 * the form that its request asks for. Thread-safe.
 */
final class JoinCodec {
    private final Transcoder transcoder;
    private final WireLimits limits;

    JoinCodec(WireLimits limits) {
        this.transcoder = new Transcoder(limits);
        this.limits = limits.withSharedMemory(true);
    }

    /**
     * The form of a request, which its response depends on.
     *
     * @param typed whether, on the protobuf wire, it has typed contents; requests are joined with raw contents
     * @param outputs the forms of its outputs on the REST wire
     * @param plainInputs on the REST wire, the names of inputs received as JSON
     */
    record JoinForm(boolean typed, OutputForms outputs, Set<String> plainInputs) {}

    /**
     * What {@link #read} has found.
     *
     * @param request owned by the receiver
     */
    record ReadRequest(InferRequest request, JoinForm form) {}

    /**
     * Who gets which part of a response, in their order.
     *
     * @param ids empty strings for requests without one
     * @param rows of each request
     */
    record RowOwners(List<String> ids, List<Integer> rows) {
        int total() {
            return rows.stream().mapToInt(Integer::intValue).sum();
        }

        /**
         * The id of a part: that of its request if the server repeats ids; one of its own if the server makes ids.
         *
         * @param server the server's id; empty for none
         */
        String id(int part, String server) {
            String own = ids.get(part);
            if (server.isEmpty() || !own.isEmpty()) {
                return server.isEmpty() ? "" : own;
            }
            ThreadLocalRandom random = ThreadLocalRandom.current();
            return new UUID(random.nextLong(), random.nextLong()).toString();
        }
    }

    /**
     * Decodes a request.
     *
     * @param message borrowed
     * @return null if it must not be written again
     * @throws dev.isthmus.oip.OipException if it is invalid
     */
    @Nullable
    ReadRequest read(ByteBufAllocator allocator, ModelRef model, InferMessage message, ServerFeatures peer) {
        return switch (message) {
            case InferMessage.RestMessage rest -> read(allocator, model, rest.body(), peer);
            case InferMessage.ProtobufMessage encoded -> {
                boolean typed = ProtobufReader.typed(encoded.message());
                InferRequest request = ProtobufReader.request(encoded.retained().message(), limits);
                yield new ReadRequest(request.withModel(model), new JoinForm(typed, OutputForms.JSON, Set.of()));
            }
            default -> null;
        };
    }

    private @Nullable ReadRequest read(ByteBufAllocator allocator, ModelRef model, RestBody body, ServerFeatures peer) {
        var reader = new RestRequestReader(allocator, model, body.jsonLength(), peer.anyParameter(), limits);
        RestRequest read;
        try {
            parts(body.content()).forEach(part -> reader.feed(part.duplicate()));
            read = reader.finish();
        } finally {
            reader.release();
        }
        if (read.contestedInputs() || !read.base64Inputs().isEmpty() || read.foreignParameter() != null) {
            read.request().release();
            return null;
        }
        return new ReadRequest(read.request(), new JoinForm(false, read.outputForms(), read.plainInputs()));
    }

    /** A composite is read component by component, as it would otherwise be flattened. */
    private static List<ByteBuf> parts(ByteBuf content) {
        return content instanceof CompositeByteBuf composite
                ? composite.decompose(composite.readerIndex(), composite.readableBytes())
                : List.of(content);
    }

    /**
     * Encodes a joined request.
     *
     * @param joined taken
     * @throws dev.isthmus.oip.OipException if the server's form cannot represent it
     */
    InferMessage write(ByteBufAllocator allocator, InferRequest joined, JoinForm form, ServerFeatures peer) {
        return peer.wire() == Wire.REST
                ? new InferMessage.RestMessage(RestWriter.request(allocator, joined, peer, form.plainInputs()))
                : new InferMessage.ProtobufMessage(ProtobufWriter.request(allocator, joined, peer.dialect()));
    }

    /**
     * The parts of a response, each as its request alone would have got it.
     *
     * @param response taken
     * @return null if it does not have a row for each row
     * @throws dev.isthmus.oip.OipException BAD_UPSTREAM_ANSWER if it is invalid
     */
    @Nullable
    List<InferMessage> split(
            ByteBufAllocator allocator, InferMessage response, JoinForm form, ServerFeatures peer, RowOwners owners) {
        if (response instanceof InferMessage.RestMessage rest && !rest.body().binary() && !peer.binaryTensorData()) {
            try {
                return JsonRows.split(allocator, rest.body().content(), limits, owners);
            } finally {
                rest.release();
            }
        }
        boolean typed;
        try {
            typed = typed(response, form, peer);
        } catch (RuntimeException e) {
            response.release();
            throw e;
        }
        ResponseForm written = new ResponseForm(response.wire(), false, form.outputs(), typed, Map.of(), null, null);
        InferMessage decoded = transcoder.response(allocator, response, ResponseForm.DECODED);
        List<InferResponse> parts =
                decoded instanceof InferMessage.Response whole ? RowTensors.split(whole.response(), owners) : null;
        return parts == null ? null : written(allocator, parts, written);
    }

    /** A server that answers raw contents to the joined request would answer typed contents to typed ones. */
    private static boolean typed(InferMessage response, JoinForm form, ServerFeatures peer) {
        return form.typed()
                ? !peer.dialect().alwaysRaw()
                : response instanceof InferMessage.ProtobufMessage encoded && ProtobufReader.typed(encoded.message());
    }

    /** @param parts taken */
    private List<InferMessage> written(ByteBufAllocator allocator, List<InferResponse> parts, ResponseForm form) {
        List<InferMessage> written = new ArrayList<>(parts.size());
        int begun = 0;
        try {
            for (InferResponse part : parts) {
                begun++;
                written.add(transcoder.response(allocator, new InferMessage.Response(part), form));
            }
            return written;
        } catch (RuntimeException | OutOfMemoryError e) {
            written.forEach(InferMessage::release);
            parts.subList(begun, parts.size()).forEach(InferResponse::release);
            throw e;
        }
    }

    /**
     * Divides the text of a JSON response: each part is the server's text, except for the id, the first dimensions, and the
     * elements of other rows. What is not as expected, or not JSON, is not divided; nothing else is checked here.
     */
    static final class JsonRows {
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
}
