package dev.isthmus.transcoder.message;

/**
 * What a message may hold at the most; more is refused before memory is spent on it.
 *
 * @param bodyBytes a REST body or a protobuf message, in bytes
 * @param jsonDepth nesting of JSON arrays and objects
 * @param numberLength characters of a JSON number
 * @param stringBytes UTF-8 bytes of one JSON string
 * @param nameBytes UTF-8 bytes of a tensor's or parameter's name
 * @param tensors inputs or outputs of one message
 * @param parameters parameters of one message or tensor
 * @param sharedMemory whether tensors may lie in shared memory instead of in the message
 */
public record WireLimits(
        long bodyBytes,
        int jsonDepth,
        int numberLength,
        int stringBytes,
        int nameBytes,
        int tensors,
        int parameters,
        boolean sharedMemory) {

    public static final WireLimits DEFAULT = new WireLimits(64L << 20, 64, 1 << 20, 16 << 20, 256, 4096, 1024, false);

    public WireLimits withBodyBytes(long bytes) {
        return new WireLimits(
                bytes, jsonDepth, numberLength, stringBytes, nameBytes, tensors, parameters, sharedMemory);
    }

    public WireLimits withTensors(int most) {
        return new WireLimits(
                bodyBytes, jsonDepth, numberLength, stringBytes, nameBytes, most, parameters, sharedMemory);
    }

    public WireLimits withSharedMemory(boolean allowed) {
        return new WireLimits(bodyBytes, jsonDepth, numberLength, stringBytes, nameBytes, tensors, parameters, allowed);
    }
}
