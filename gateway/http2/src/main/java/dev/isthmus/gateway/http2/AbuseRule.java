package dev.isthmus.gateway.http2;

import dev.isthmus.gateway.net.Labelled;

/** Reasons to close a connection with ENHANCE_YOUR_CALM (RFC 9113, 10.5). */
public enum AbuseRule implements Labelled {
    /** The peer resets streams before a response is sent. */
    STREAM_RESETS,
    /** Protocol errors of the peer make us reset its streams. */
    STREAM_ERRORS,
    /** Frames without data: PING, SETTINGS, PRIORITY, WINDOW_UPDATE, empty DATA, frames on closed streams. */
    CONTROL_FRAMES,
    /** The peer causes frames to be queued and does not read them. */
    QUEUED_FRAMES,
    /** A header block has too many bytes, fields or frames. */
    HEADER_BLOCK
}
