package dev.isthmus.transcoder.json;

/** Hears from a {@link NumberScanner} how arrays of numbers lie in each other. Levels count from 1, the outermost. */
public interface ArrayListener {

    /** An array begins at this level. */
    void open(int level);

    /** So many elements come in the array of this level. */
    void elements(int level, long number);

    /** The array of this level ends. */
    void close(int level);

    /** Remembers what there is now, for {@link #reset()}. */
    void mark();

    /** Forgets what came since {@link #mark()}. */
    void reset();
}
