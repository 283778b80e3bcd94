package dev.isthmus.gateway.warm;

/**
 * The tensor sizes of the workload: a few numbers; JSON that takes a while to parse and print; and an image, with so
 * many frames and reads that per-frame code is compiled as well as per-request code. Owns the tensors.
 */
record TensorSizes(WarmUpMessages small, WarmUpMessages text, WarmUpMessages image) implements AutoCloseable {
    private static final int SMALL = 16;
    private static final int TEXT = 20_000;
    private static final int IMAGE = 150_528;

    TensorSizes() {
        this(new WarmUpMessages(SMALL), new WarmUpMessages(TEXT), new WarmUpMessages(IMAGE));
    }

    /** The largest size whose request may have a body of this many bytes. */
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
