package dev.isthmus.transcoder.rest;

/**
 * The memory that a message takes while it is read, in bytes: exact for its tensors and retained text, and an estimate
 * for other parts whose heap objects are much larger than their text.
 */
final class HeldMemory {
    /** Heap bytes that are not counted: every message takes some, and concurrent calls are limited. */
    private static final int FREE = 16 << 10;

    // Estimates per part, in addition to its text. HeapOfJsonTest compares them with the heap.
    static final int TENSOR = 400;
    static final int DATA = 1200;
    static final int OUTPUT = 200;
    static final int PARAMETER = 130;
    private static final int MEMBER = 96;

    private long data;
    private long heap;

    /** Adds to the bytes held for tensors and text; may be negative. */
    void data(long more) {
        data += more;
    }

    /** Adds to the heap bytes held; may be negative. */
    void heap(long more) {
        heap += more;
    }

    /** The heap bytes of a member's name while its object is open. */
    static long member(String name) {
        return (long) MEMBER + name.length();
    }

    /** @param window the size of the tokenizer's window, in bytes */
    long bytes(int window) {
        return data + Math.max(0, heap + window - FREE);
    }

    /** Resets all counts. */
    void clear() {
        data = 0;
        heap = 0;
    }
}
