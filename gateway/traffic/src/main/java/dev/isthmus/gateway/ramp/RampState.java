package dev.isthmus.gateway.ramp;

import dev.isthmus.gateway.net.Labelled;

public enum RampState implements Labelled {
    /** It advances through its steps. */
    RUNNING,
    /** It stays at its step until it is resumed; the guard can still roll it back. */
    PAUSED,
    /** The last step has ended: the share stays, and is no longer guarded. */
    COMPLETE,
    /** The target's share is 0 until the ramp is restarted. */
    ROLLED_BACK
}
