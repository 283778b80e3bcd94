package dev.isthmus.gateway.http2;

import java.util.Locale;

/** What a connection is closed for with ENHANCE_YOUR_CALM (RFC 9113, 10.5). */
public enum AbuseRule {
    /** The peer resets streams before they are answered. */
    STREAM_RESETS,
    /** The peer breaks the protocol on its streams, so that we reset them. */
    STREAM_ERRORS,
    /** Frames that carry nothing: PING, SETTINGS, PRIORITY, WINDOW_UPDATE, empty DATA, frames of closed streams. */
    CONTROL_FRAMES,
    /** The peer causes frames that it does not read. */
    QUEUED_FRAMES,
    /** A header block of too many bytes or frames. */
    HEADER_BLOCK;

    /** In logs and metrics. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
