package dev.isthmus.gateway.net;

import org.slf4j.Marker;
import org.slf4j.MarkerFactory;

/**
 * Marks log events that may repeat: with each call, connection or check. The log writes the first at once, and after
 * each minute the last one with the number of those left out. Events are told apart by their template and by what their
 * members {@code upstream}, {@code server}, {@code model}, {@code target}, {@code listener}, {@code file}, {@code code}
 * and {@code rule} name, at most 100 of each template. If the level of the logger is DEBUG, none is left out.
 */
public final class RepeatingLogEvent {
    public static final Marker MARKER = MarkerFactory.getMarker("repeats");

    private RepeatingLogEvent() {}
}
