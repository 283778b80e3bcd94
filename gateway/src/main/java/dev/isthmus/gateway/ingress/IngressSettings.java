package dev.isthmus.gateway.ingress;

/**
 * What one listener accepts.
 *
 * @param maxBodyBytes a request's body, or one gRPC message
 * @param maxConcurrentStreams open streams of one HTTP/2 connection
 */
public record IngressSettings(long maxBodyBytes, int maxConcurrentStreams) {
    /** Bytes of a request line. */
    static final int MAX_REQUEST_LINE = 8 * 1024;
    /** Bytes of all header fields of a request. */
    static final int MAX_HEADER_BYTES = 16 * 1024;
    /** Header fields of a request. */
    static final int MAX_HEADER_FIELDS = 100;
}
