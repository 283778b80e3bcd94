package dev.isthmus.transcoder.rest;

/**
 * How many bytes of memory a message takes while it is read: its tensors and the text that is kept, exactly, and about what
 * its other parts become on the heap, where that is much more than they are long.
 */
final class HeldMemory {
    /** Of the heap, not counted: any message takes some, and calls are limited in number. */
    private static final int FREE = 16 << 10;

    // What is counted for each part beside its text. HeapOfJsonTest compares it with what the heap says.
    static final int TENSOR = 400;
    static final int DATA = 1200;
    static final int OUTPUT = 200;
    static final int PARAMETER = 130;
    private static final int MEMBER = 96;

    private long data;
    private long heap;

    /** So much more is held of tensors and text; less where negative. */
    void data(long more) {
        data += more;
    }

    /** So much more is held of the heap. */
    void heap(long more) {
        heap += more;
    }

    /** What the name of a member takes while its object is open. */
    static long member(String name) {
        return (long) MEMBER + name.length();
    }

    /** @param window bytes of the heap that the text lies in which is being read */
    long bytes(int window) {
        return data + Math.max(0, heap + window - FREE);
    }

    /** Nothing is held any more. */
    void clear() {
        data = 0;
        heap = 0;
    }
}
