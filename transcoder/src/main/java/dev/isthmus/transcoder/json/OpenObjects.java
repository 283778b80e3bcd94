package dev.isthmus.transcoder.json;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.LongConsumer;

/** The names of the members of open objects, none of which may be given twice. */
final class OpenObjects {
    /** The approximate heap size of a member's name, in bytes; almost all are short. */
    private static final int NAME = 160;

    /** The maximum members of all open objects; each takes memory until its object is complete. */
    static final int MAX_MEMBERS = 1 << 16;

    private final LongConsumer heap;
    private final Map<Integer, Set<String>> namesByDepth = new HashMap<>();
    private int members;

    /** @param heap receives each change of the heap held, in bytes */
    OpenObjects(LongConsumer heap) {
        this.heap = heap;
    }

    /**
     * Adds a member to the object at this depth.
     *
     * @throws JsonException if it has one of that name, or if there are too many
     */
    void member(int depth, String name) {
        Set<String> names = namesByDepth.computeIfAbsent(depth, open -> new HashSet<>());
        if (!names.add(name)) {
            throw new JsonException("key '" + name + "' is given twice");
        }
        members++;
        heap.accept(NAME);
        if (members > MAX_MEMBERS) {
            throw new JsonException("the body: at most " + MAX_MEMBERS + " members are accepted");
        }
    }

    /** The object at this depth is complete. */
    void closed(int depth) {
        Set<String> names = namesByDepth.remove(depth);
        if (names != null) {
            members -= names.size();
            heap.accept(-(long) names.size() * NAME);
        }
    }
}
