package dev.isthmus.transcoder.message;

/**
 * The limits of a message. A message beyond a limit is rejected before memory is allocated for it.
 *
 * @param bodyBytes the size of a REST body or a protobuf message, and of a string in it, in bytes
 * @param jsonDepth the nesting of JSON arrays and objects, 64 at most: a reader has a bit for each level
 * @param numberLength the length of a JSON number, in characters
 * @param nameBytes the length of a tensor's or parameter's name, in UTF-8 bytes
 * @param tensors the number of inputs or outputs of one message
 * @param parameters the number of parameters of one message or tensor
 * @param sharedMemory whether tensors may be in shared memory instead of in the message
 */
public record WireLimits(
        long bodyBytes,
        int jsonDepth,
        int numberLength,
        int nameBytes,
        int tensors,
        int parameters,
        boolean sharedMemory) {

    public static final WireLimits DEFAULT = new WireLimits(64L << 20, 64, 1 << 20, 256, 4096, 1024, false);

    public WireLimits {
        if (jsonDepth > Long.SIZE) {
            throw new IllegalArgumentException("jsonDepth: at most 64 is expected, got " + jsonDepth);
        }
    }

    public WireLimits withBodyBytes(long bytes) {
        return new WireLimits(bytes, jsonDepth, numberLength, nameBytes, tensors, parameters, sharedMemory);
    }

    public WireLimits withTensors(int max) {
        return new WireLimits(bodyBytes, jsonDepth, numberLength, nameBytes, max, parameters, sharedMemory);
    }

    public WireLimits withSharedMemory(boolean allowed) {
        return allowed == sharedMemory
                ? this
                : new WireLimits(bodyBytes, jsonDepth, numberLength, nameBytes, tensors, parameters, allowed);
    }
}
