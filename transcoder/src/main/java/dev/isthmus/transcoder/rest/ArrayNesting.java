package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Shape;
import dev.isthmus.transcoder.json.ArrayListener;
import dev.isthmus.transcoder.message.TensorCheck;
import java.util.Arrays;

/**
 * Checks the nesting of the arrays in one tensor's {@code data} and counts the elements: either one flat array, or
 * nested arrays of equal length per level. The outermost level is 1; a value without an array is at level 0.
 */
final class ArrayNesting implements ArrayListener {
    /** One level below the deepest of any shape, whose arrays may be BYTES elements. */
    private static final int MOST = Shape.MAX_RANK + 2;

    private TensorCheck check = TensorCheck.INPUT;
    private String tensor = "";
    private long count;
    private int deepest;
    private boolean elementSeen;
    /** Whether the open array is a BYTES element. */
    private boolean octets;

    /** The items of the current array of each level. */
    private final long[] items = new long[MOST];
    /** The length of the previous arrays of each level; -1 if none has ended yet. */
    private final long[] extents = new long[MOST];

    private final long[] markedItems = new long[MOST];
    private final long[] markedExtents = new long[MOST];
    private long markedCount;
    private int markedDeepest;
    private boolean markedElementSeen;

    /** Another tensor's data follows. */
    ArrayNesting begin(TensorCheck dataCheck, String name) {
        check = dataCheck;
        tensor = name;
        count = 0;
        deepest = 0;
        elementSeen = false;
        octets = false;
        Arrays.fill(extents, -1);
        return this;
    }

    @Override
    public void open(int level) {
        open(level, false);
    }

    /**
     * An array starts.
     *
     * @param mayBeElement whether it may turn out to be an element ({@link #element})
     */
    void open(int level, boolean mayBeElement) {
        if (octets) {
            throw ragged();
        }
        boolean element = mayBeElement && level == deepest + 1;
        if (level > Shape.MAX_RANK + (mayBeElement ? 1 : 0) || (elementSeen && level > deepest && !element)) {
            throw ragged();
        }
        if (level > 1) {
            items[level - 1]++;
        }
        items[level] = 0;
        deepest = elementSeen ? deepest : Math.max(deepest, level);
    }

    @Override
    public void close(int level) {
        if (octets) {
            octets = false;
            return;
        }
        if (extents[level] >= 0 && extents[level] != items[level]) {
            throw ragged();
        }
        extents[level] = items[level];
    }

    @Override
    public void elements(int level, long number) {
        if (level != deepest || level > Shape.MAX_RANK) {
            throw ragged();
        }
        elementSeen = true;
        items[level] += number;
        count += number;
    }

    /**
     * The array at this level has one more element.
     *
     * @param octet whether it is one byte of a BYTES element, which the array just opened turns out to be; such an array
     *     is not a level of nesting
     */
    void element(int level, boolean octet) {
        if (octets && !octet) {
            throw ragged();
        } else if (!octet) {
            elements(level, 1);
        } else if (!octets) {
            beginOctets(level);
        }
    }

    private void beginOctets(int level) {
        octets = true;
        int outer = level - 1;
        if (items[level] > 0 || (elementSeen && outer != deepest)) {
            throw ragged();
        }
        deepest = outer;
        elementSeen = true;
        count++;
    }

    @Override
    public void mark() {
        System.arraycopy(items, 0, markedItems, 0, MOST);
        System.arraycopy(extents, 0, markedExtents, 0, MOST);
        markedCount = count;
        markedDeepest = deepest;
        markedElementSeen = elementSeen;
    }

    @Override
    public void reset() {
        System.arraycopy(markedItems, 0, items, 0, MOST);
        System.arraycopy(markedExtents, 0, extents, 0, MOST);
        count = markedCount;
        deepest = markedDeepest;
        elementSeen = markedElementSeen;
    }

    /** Whether there was neither an array nor an element: it was null, which is as good as absent. */
    boolean isEmpty() {
        return deepest == 0 && count == 0;
    }

    /** The elements so far. */
    long count() {
        return count;
    }

    private OipException ragged() {
        return check.failure(tensor, "data: nested arrays of different sizes");
    }

    /**
     * Requires that the data has this shape; a flat array matches any shape with as many elements, a value without an
     * array only a scalar's.
     */
    void requireShape(Shape shape) {
        long expected = check.elementCount(tensor, shape);
        if (deepest == 0 && count > 0 && shape.rank() > 0) {
            throw check.failure(tensor, "data: an array is expected for shape " + shape + ", got a single value");
        }
        if (count != expected) {
            throw check.failure(
                    tensor, "shape " + shape + " needs " + expected + " elements, got " + count + " in data");
        }
        if (deepest == 1 && extents[1] != count) {
            // Some of its items are empty arrays, which are no elements.
            throw ragged();
        }
        if (deepest <= 1 || count == 0) {
            return;
        }
        boolean same = deepest == shape.rank();
        for (int level = 1; same && level <= deepest; level++) {
            same = extents[level] == shape.extent(level - 1);
        }
        if (!same) {
            throw check.failure(
                    tensor, "shape " + shape + " is expected of the nested arrays in data, got " + nesting());
        }
    }

    private Shape nesting() {
        return Shape.of(Arrays.copyOfRange(extents, 1, deepest + 1));
    }
}
