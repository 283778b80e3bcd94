package dev.isthmus.transcoder.message;

/**
 * The features of the server that receives a request.
 *
 * @param binaryTensorData whether, on the REST wire, it supports the binary tensor data extension
 * @param sharedMemory whether tensors may be in shared memory
 */
public record ServerFeatures(Wire wire, Dialect dialect, boolean binaryTensorData, boolean sharedMemory) {

    /** A backend in this process. */
    public static final ServerFeatures LOCAL = new ServerFeatures(Wire.DECODED, Dialect.GENERIC, false, false);

    /** The same without shared memory. */
    public ServerFeatures withoutSharedMemory() {
        return new ServerFeatures(wire, dialect, binaryTensorData, false);
    }

    /** Whether it accepts any JSON value as a parameter ({@link dev.isthmus.oip.Parameter.Json}). */
    public boolean anyParameter() {
        return wire == Wire.REST && dialect.anyParameter();
    }

    /** Whether each request of a stream has exactly one response, because the server or the wire knows no others. */
    public boolean singleResponses() {
        return switch (wire) {
            case REST -> !dialect.eventsOverRest();
            case PROTOBUF -> !dialect.streams();
            case DECODED -> true;
        };
    }
}
