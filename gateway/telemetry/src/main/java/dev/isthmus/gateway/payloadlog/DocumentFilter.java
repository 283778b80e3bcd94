package dev.isthmus.gateway.payloadlog;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import dev.isthmus.gateway.settings.PayloadLogConfig.OmittedPayload;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufInputStream;
import io.netty.buffer.ByteBufUtil;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Set;

/**
 * Leaves tensors and parameters out of the JSON documents of the generate extension. With Triton each of their members
 * is a tensor or a parameter, with MLServer they are V2 requests and responses: if tensors are left out, so are all
 * {@code inputs} and {@code outputs}.
 */
final class DocumentFilter {
    private static final JsonFactory JSON = JsonFactory.builder()
            .enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS)
            // Clients make up names: they are not kept.
            .disable(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES)
            .build();
    private static final Set<String> V2_TENSORS = Set.of("inputs", "outputs");
    private static final String EVENT_DATA = "data:";
    /** Ends a stream of some servers. */
    private static final String DONE = "[DONE]";

    private final Set<String> tensors;
    private final Set<String> parameters;

    DocumentFilter(OmittedPayload omit) {
        tensors = omit.tensors();
        parameters = omit.parameters();
    }

    /**
     * What is left of a document.
     *
     * @param tensorsOmitted whether tensors were left out
     */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    record FilteredDocument(byte[] bytes, boolean tensorsOmitted) {}

    /**
     * The document (borrowed) on one line.
     *
     * @throws IOException if it is not one JSON object
     */
    FilteredDocument json(ByteBuf document) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream(document.readableBytes());
        boolean omitted = copy(new ByteBufInputStream(document.slice()), out, true);
        return new FilteredDocument(out.toByteArray(), omitted);
    }

    /**
     * Server-sent events (borrowed), each with one document.
     *
     * @throws IOException if something is to be left out, and the data of an event is not one JSON object
     */
    FilteredDocument events(ByteBuf events) throws IOException {
        byte[] all = ByteBufUtil.getBytes(events);
        if (tensors.isEmpty() && parameters.isEmpty()) {
            return new FilteredDocument(all, false);
        }
        ByteArrayOutputStream out = new ByteArrayOutputStream(all.length);
        StringBuilder data = new StringBuilder();
        boolean omitted = false;
        for (String line : new String(all, StandardCharsets.UTF_8).lines().toList()) {
            if (line.startsWith(EVENT_DATA)) {
                data.append(line, EVENT_DATA.length(), line.length()).append('\n');
            } else {
                omitted |= event(data, out);
                write(out, line + "\n");
            }
        }
        omitted |= event(data, out);
        return new FilteredDocument(out.toByteArray(), omitted);
    }

    /** Writes the data of an event, if there are any, and empties them; returns whether tensors were left out. */
    private boolean event(StringBuilder data, ByteArrayOutputStream out) throws IOException {
        String document = data.toString().strip();
        data.setLength(0);
        if (document.isEmpty()) {
            return false;
        }
        write(out, EVENT_DATA + " ");
        boolean omitted = false;
        if (document.equals(DONE)) {
            write(out, DONE);
        } else {
            omitted = copy(new ByteArrayInputStream(document.getBytes(StandardCharsets.UTF_8)), out, true);
        }
        out.write('\n');
        return omitted;
    }

    private static void write(ByteArrayOutputStream out, String text) {
        out.writeBytes(text.getBytes(StandardCharsets.UTF_8));
    }

    /** The JSON of a parameter on one line, without the members that are left out. */
    String parameter(String json) {
        ByteArrayOutputStream out = new ByteArrayOutputStream(json.length());
        try {
            copy(new ByteArrayInputStream(json.getBytes(StandardCharsets.UTF_8)), out, false);
        } catch (IOException never) {
            return "null";
        }
        return out.toString(StandardCharsets.UTF_8);
    }

    /**
     * Copies a value of JSON; numbers keep their digits, and non-finite ones become strings.
     *
     * @param document whether it is an object with tensors
     * @return whether tensors were left out
     */
    private boolean copy(InputStream json, ByteArrayOutputStream to, boolean document) throws IOException {
        boolean omitted = false;
        try (JsonParser in = JSON.createParser(json);
                JsonGenerator out = JSON.createGenerator(to)) {
            require(in.nextToken() == JsonToken.START_OBJECT || !document);
            out.copyCurrentEventExact(in);
            for (JsonToken token = in.nextToken(); token != null; token = in.nextToken()) {
                boolean named = token == JsonToken.FIELD_NAME;
                boolean tensor =
                        document && named && in.getParsingContext().getParent().inRoot() && omits(in.currentName());
                if (tensor || (named && parameters.contains(in.currentName()))) {
                    in.nextToken();
                    in.skipChildren();
                    omitted |= tensor;
                } else {
                    out.copyCurrentEventExact(in);
                }
                if (in.getParsingContext().inRoot()) {
                    require(in.nextToken() == null);
                }
            }
            require(in.getParsingContext().inRoot());
        }
        return omitted;
    }

    private boolean omits(String member) {
        return tensors.contains(member) || (!tensors.isEmpty() && V2_TENSORS.contains(member));
    }

    private static void require(boolean holds) throws IOException {
        if (!holds) {
            throw new IOException("one JSON object is expected");
        }
    }
}
