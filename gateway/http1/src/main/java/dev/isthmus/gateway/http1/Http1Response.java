package dev.isthmus.gateway.http1;

/**
 * The head of a response.
 *
 * @param http10 whether its version is HTTP/1.0
 * @param contentLength of the body as announced; -1 if it is not
 */
public record Http1Response(int status, boolean http10, FieldSection fields, long contentLength) {

    /** Whether it is an interim response: another one follows. */
    public boolean interim() {
        return status < 200;
    }

    /** Whether the connection can carry another response. */
    public boolean persistent() {
        return fields.persistent(http10);
    }
}
