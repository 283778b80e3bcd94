package dev.isthmus.bench.attack;

import java.io.IOException;

/** An attack by a client, or by a misbehaving server on a client's request. */
public interface Attack {
    String name();

    /** Whether it uses no feature of Isthmus, so that it can be run against any proxy for V2 servers. */
    default boolean clientSide() {
        return true;
    }

    /** Builds the bytes to send, so that this costs no time during the attack. */
    default void prepare() {}

    /** Runs the attack, which ends by itself within about 20 s. */
    AttackResult play(AttackTarget target) throws IOException, InterruptedException;
}
