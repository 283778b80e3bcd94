package dev.isthmus.transcoder;

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
 */
public record WireLimits(
        long bodyBytes, int jsonDepth, int numberLength, int stringBytes, int nameBytes, int tensors, int parameters) {

    public static final WireLimits DEFAULT = new WireLimits(64L << 20, 64, 64, 16 << 20, 256, 256, 1024);

    public WireLimits withBodyBytes(long bytes) {
        return new WireLimits(bytes, jsonDepth, numberLength, stringBytes, nameBytes, tensors, parameters);
    }
}
