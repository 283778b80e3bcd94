package dev.isthmus.gateway.http1;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;

/**
 * Limits of a message's head; those of fields also hold for its trailers.
 *
 * @param line what the first line is called
 * @param maxLine length of the first line in bytes
 * @param maxBytes length of all fields in bytes, without the ends of their lines
 * @param maxFields number of fields
 */
public record HeadLimits(String line, int maxLine, int maxBytes, int maxFields) {

    /** The failure of a message whose first line is too long. */
    public OipException lineTooLong() {
        return new OipException(ErrorCode.URI_TOO_LONG, line + ": at most " + maxLine + " bytes are accepted");
    }

    OipException fieldsTooLong() {
        return new OipException(
                ErrorCode.HEADERS_TOO_LARGE, "header fields: at most " + maxBytes + " bytes are accepted");
    }

    OipException tooManyFields() {
        return new OipException(ErrorCode.HEADERS_TOO_LARGE, "at most " + maxFields + " header fields are accepted");
    }
}
