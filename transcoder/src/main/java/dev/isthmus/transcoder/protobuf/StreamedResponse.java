package dev.isthmus.transcoder.protobuf;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.transcoder.message.StreamParameters;
import io.netty.buffer.ByteBuf;

/**
 * What tells the place of a ModelInferResponse in a stream of responses.
 *
 * @param id of its request; empty if it has none
 * @param last whether the server marks it as the last response to its request ({@code triton_final_response})
 */
public record StreamedResponse(String id, boolean last) {
    /** Of a response that says neither. */
    public static final StreamedResponse UNKNOWN = new StreamedResponse("", false);

    /**
     * Reads it from an encoded response, without the rest.
     *
     * @param message borrowed
     * @throws dev.isthmus.oip.OipException BAD_UPSTREAM_ANSWER if the message is malformed
     */
    public static StreamedResponse of(ByteBuf message) {
        ProtoCursor cursor = ProtoCursor.of(message, ErrorCode.BAD_UPSTREAM_ANSWER);
        String id = "";
        boolean last = false;
        while (cursor.more()) {
            switch (cursor.tag()) {
                case MessageParser.ID -> id = cursor.string();
                case MessageParser.PARAMETERS -> last |= marksLast(cursor.nested());
                default -> cursor.skip();
            }
        }
        return new StreamedResponse(id, last);
    }

    private static boolean marksLast(ProtoCursor entry) {
        boolean named = false;
        boolean value = false;
        while (entry.more()) {
            switch (entry.tag()) {
                case ParameterEntries.KEY -> named = entry.string().equals(StreamParameters.FINAL);
                case ParameterEntries.VALUE -> value = isTrue(entry.nested());
                default -> entry.skip();
            }
        }
        return named && value;
    }

    private static boolean isTrue(ProtoCursor parameter) {
        boolean value = false;
        while (parameter.more()) {
            if (parameter.tag() == ParameterEntries.BOOL) {
                value = parameter.varint() != 0;
            } else {
                parameter.skip();
            }
        }
        return value;
    }
}
