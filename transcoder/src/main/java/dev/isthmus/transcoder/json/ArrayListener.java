package dev.isthmus.transcoder.json;

/** Receives the nesting of arrays of numbers from a {@link NumberScanner}. Levels count from 1, the outermost. */
public interface ArrayListener {

    /** An array starts at this level. */
    void open(int level);

    /** The array at this level has {@code number} more elements. */
    void elements(int level, long number);

    /** The array at this level ends. */
    void close(int level);

    /** Saves the state for {@link #reset()}. */
    void mark();

    /** Restores the state saved by {@link #mark()}. */
    void reset();
}
