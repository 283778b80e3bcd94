package dev.isthmus.gateway.http1;

/**
 * The head of a request.
 *
 * @param target as in the request line
 * @param http10 whether its version is HTTP/1.0
 * @param contentLength of the body as announced; -1 if it is chunked, or if there is none
 */
public record Http1Request(String method, String target, boolean http10, FieldSection fields, long contentLength) {

    /** Whether the connection can carry another request. */
    public boolean persistent() {
        return fields.persistent(http10);
    }
}
