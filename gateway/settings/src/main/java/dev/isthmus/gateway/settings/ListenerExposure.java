package dev.isthmus.gateway.settings;

import org.jspecify.annotations.Nullable;

/** Who can reach a listener. */
public final class ListenerExposure {
    private ListenerExposure() {}

    /** Whether requests need no credential, although its address is not loopback or others need one. */
    public static boolean isOpen(Listener listener) {
        return listener.access() == ListenerAccess.OPEN;
    }

    /** Whether only this machine can reach it. */
    public static boolean isLoopback(Listener listener) {
        return listener.isUnix() || WebUrl.isLoopback(listener.host());
    }

    /** Why it must not be opened with this authentication; null if it may be. */
    public static @Nullable String problem(Listener listener, @Nullable AuthenticationConfig authentication) {
        return isLoopback(listener) || isOpen(listener) || authentication != null
                ? null
                : "host: '" + listener.host() + "' is not loopback, so everybody who reaches it may send requests: add "
                        + "a section 'authentication', or 'access: open' to the listener";
    }
}
