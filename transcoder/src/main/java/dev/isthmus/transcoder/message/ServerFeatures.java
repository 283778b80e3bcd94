package dev.isthmus.transcoder.message;

/**
 * What the server understands that a request goes to.
 *
 * @param binaryTensorData whether, on the REST wire, it knows the binary tensor data extension
 * @param sharedMemory whether tensors may lie in memory that client and server share
 */
public record ServerFeatures(Wire wire, Dialect dialect, boolean binaryTensorData, boolean sharedMemory) {

    /** A backend in this process. */
    public static final ServerFeatures LOCAL = new ServerFeatures(Wire.DECODED, Dialect.GENERIC, false, false);

    /** Whether it takes any JSON as a parameter ({@link dev.isthmus.oip.Parameter.Json}). */
    public boolean anyParameter() {
        return wire == Wire.REST && dialect.anyParameter();
    }

    /** A server without peculiarities. */
    public static ServerFeatures of(Wire wire) {
        return new ServerFeatures(wire, Dialect.GENERIC, true, false);
    }
}
