package dev.isthmus.gateway.extension;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.protobuf.Message;
import java.io.IOException;

/**
 * What a message of the gRPC protocol is in the JSON of the REST protocol; names that stand in the path of a request are
 * not part of it.
 *
 * @param reader from JSON, an object or an array, into a message
 * @param writer from a message into JSON
 */
record JsonForm(FormReader reader, FormWriter writer) {
    /** Nothing: as a request {@code {}}, as an answer no body. */
    static final JsonForm NOTHING = new JsonForm((json, into) -> {}, message -> ProtobufJson.object());
    /** Member by member under the names of the fields, as {@link ProtobufJson} has it. */
    static final JsonForm FIELDS = new JsonForm(ProtobufJson::read, ProtobufJson::write);
    /** The files of a model, for which no tree is made: {@link LoadRequests}. */
    static final JsonForm FILES = new JsonForm(
            (json, into) -> {
                throw new IOException("is read as it comes");
            },
            message -> {
                throw new IOException("is written as it comes");
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
