package dev.isthmus.gateway.warm;

/**
 * The sizes of tensors that are exercised: a few numbers; as much JSON as takes a while to read and print; and an image, whose
 * frames and reads are so many that what is done for each of them is compiled as what is done for a request. Owns them.
 */
record TensorSizes(WarmUpMessages small, WarmUpMessages text, WarmUpMessages image) implements AutoCloseable {
    private static final int SMALL = 16;
    private static final int TEXT = 20_000;
    private static final int IMAGE = 150_528;

    TensorSizes() {
        this(new WarmUpMessages(SMALL), new WarmUpMessages(TEXT), new WarmUpMessages(IMAGE));
    }

    /** The largest that a request with a body of so many bytes may have had. */
    WarmUpMessages of(long bytes) {
        return bytes < text.tensorBytes() ? small : bytes < image.tensorBytes() ? text : image;
    }

    @Override
    public void close() {
        small.close();
        text.close();
        image.close();
    }
}
