package dev.isthmus.bench.attack;

import java.io.IOException;

/** Something that a client does, or has a bad server do. */
public interface Attack {
    String name();

    /** Whether it needs nothing of Isthmus' own, so that it can be played against any proxy of V2 servers. */
    default boolean clientSide() {
        return true;
    }

    /** Makes the bytes that it needs, so that this costs nothing while it is played. */
    default void prepare() {}

    /** Plays it to its end, which comes by itself within some 20 s. */
    AttackResult play(AttackTarget target) throws IOException, InterruptedException;
}
