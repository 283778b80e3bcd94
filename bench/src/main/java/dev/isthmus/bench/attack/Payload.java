package dev.isthmus.bench.attack;

import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Bytes built before an attack begins and kept until it has ended. Not thread-safe. */
final class Payload {
    private final Supplier<byte[]> made;
    private byte @Nullable [] bytes;

    Payload(Supplier<byte[]> made) {
        this.made = made;
    }

    byte[] get() {
        byte[] known = bytes;
        if (known == null) {
            known = made.get();
            bytes = known;
        }
        return known;
    }

    void drop() {
        bytes = null;
    }
}
