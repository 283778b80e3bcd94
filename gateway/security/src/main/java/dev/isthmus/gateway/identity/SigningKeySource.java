package dev.isthmus.gateway.identity;

import org.jspecify.annotations.Nullable;

/** Where an issuer's keys come from. Thread-safe; never blocks. */
interface SigningKeySource {

    /** The last good keys; null before there were any. */
    @Nullable
    SigningKeys current();

    /**
     * A token names a key that is not among them.
     *
     * @return whether newer keys are on their way, so that the request is worth repeating
     */
    default boolean refreshes() {
        return false;
    }
}
