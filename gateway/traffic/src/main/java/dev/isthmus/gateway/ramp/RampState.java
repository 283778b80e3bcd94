package dev.isthmus.gateway.ramp;

import java.util.Locale;

/** The state of a ramp. */
public enum RampState {
    /** It advances through its steps. */
    RUNNING,
    /** It stays at its step until it is resumed; the guard can still roll it back. */
    PAUSED,
    /** The last step has ended: the share stays, and is no longer guarded. */
    COMPLETE,
    /** The target's share is 0 until the ramp is restarted. */
    ROLLED_BACK;

    /** Its name for operators, in files and in Redis. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
