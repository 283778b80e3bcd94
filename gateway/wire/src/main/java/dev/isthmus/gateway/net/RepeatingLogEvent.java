package dev.isthmus.gateway.net;

import org.slf4j.Logger;
import org.slf4j.Marker;
import org.slf4j.MarkerFactory;
import org.slf4j.spi.LoggingEventBuilder;

/**
 * Marks log events that may repeat: with each call, connection or check. The log writes the first at once, and after
 * each minute the last one with the number of those left out. Events are told apart by their template and by what their
 * members {@code upstream}, {@code server}, {@code model}, {@code target}, {@code listener}, {@code file}, {@code code}
 * and {@code rule} name, at most 100 of each template. If the level of the logger is DEBUG, none is left out.
 */
public final class RepeatingLogEvent {
    public static final Marker MARKER = MarkerFactory.getMarker("repeats");

    private RepeatingLogEvent() {}

    /** Begins a warning that may repeat. */
    public static LoggingEventBuilder warn(Logger log) {
        return log.atWarn().addMarker(MARKER);
    }

    /** Begins the report of a fault of the gateway itself, which may repeat. */
    public static LoggingEventBuilder fault(Logger log, Throwable fault) {
        return log.atError().addMarker(MARKER).setCause(fault);
    }

    /** A task that reports its faults and throws none: an executor repeats no task that has thrown. */
    public static Runnable guarded(Logger log, String report, Runnable task) {
        return () -> {
            try {
                task.run();
            } catch (RuntimeException | OutOfMemoryError fault) {
                fault(log, fault).log(report);
            }
        };
    }
}
