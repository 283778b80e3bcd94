package dev.isthmus.gateway.ramp;

/** How a ramp stands. */
public enum RampState {
    /** Its steps go on. */
    RUNNING,
    /** It stays at its step until it is resumed; it is still rolled back where the target does worse. */
    PAUSED,
    /** The last step has lasted its time: its share stays, and is guarded no more. */
    COMPLETE,
    /** The target gets nothing until the ramp is restarted. */
    ROLLED_BACK
}
