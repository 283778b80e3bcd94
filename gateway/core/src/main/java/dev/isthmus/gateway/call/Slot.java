package dev.isthmus.gateway.call;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * The place of one value in each {@link Exchange}, for what a layer keeps of a call. Held in a constant of its owner.
 *
 * @param <T> type of the value
 */
@SuppressWarnings("UnusedTypeParameter") // it types get() and put()
public final class Slot<T> {
    private static final AtomicInteger COUNT = new AtomicInteger();

    final int index = COUNT.getAndIncrement();

    /** How many there are. */
    static int count() {
        return COUNT.get();
    }
}
