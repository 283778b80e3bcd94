package dev.isthmus.gateway.extension;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.protobuf.Message;
import java.io.IOException;

/**
 * The JSON form of a protobuf message. Names in the path of a request are not part of it.
 *
 * @param reader reads JSON, an object or an array, into a message
 * @param writer writes a message as JSON
 */
record JsonForm(FormReader reader, FormWriter writer) {
    /** No content: {@code {}} as a request, no body as a response. */
    static final JsonForm NOTHING = new JsonForm((json, into) -> {}, message -> ProtobufJson.object());
    /** One member per field, under the field's name, as {@link ProtobufJson} writes it. */
    static final JsonForm FIELDS = new JsonForm(ProtobufJson::read, ProtobufJson::write);
    /** Of a load or unload, whose parameters may be a model's files: not read into a tree ({@link LoadRequests}). */
    static final JsonForm PARAMETERS = new JsonForm(
            (json, into) -> {
                throw new IOException("is read as a stream");
            },
            message -> {
                throw new IOException("is written as a stream");
            });

    /** Reads JSON into a message. */
    @FunctionalInterface
    interface FormReader {
        /**
         * Reads a document.
         *
         * @throws IOException for JSON that is not of this form
         */
        void read(JsonNode json, Message.Builder into) throws IOException;
    }

    /** Writes a message as JSON. */
    @FunctionalInterface
    interface FormWriter {
        JsonNode write(Message message) throws IOException;
    }
}
