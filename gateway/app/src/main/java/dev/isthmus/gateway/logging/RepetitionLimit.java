package dev.isthmus.gateway.logging;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.spi.ILoggingEvent;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.settings.LogArea;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.event.KeyValuePair;

/**
 * What repeats is written once a minute: the first event at once, and after each minute the last one with the number of
 * those left out. Two events are alike if level, logger and template are the same, and the members that say what they
 * are about. Only events marked with {@link RepeatingLogEvent#MARKER} are limited, and warnings of libraries. Thread-safe.
 */
final class RepetitionLimit {
    /** Members that say what an event is about. Others, such as the peer or the request id, differ with each event. */
    private static final Set<String> SUBJECT =
            Set.of("upstream", "server", "model", "target", "listener", "file", "code", "rule");

    private static final long MINUTE_NANOS = TimeUnit.MINUTES.toNanos(1);
    /** Beyond this number only logger and level tell kinds apart. */
    static final int MAX_KINDS = 2000;
    /** Beyond this number of subjects of one message they are not told apart: clients choose names of models. */
    static final int MAX_SUBJECTS = 100;

    private final LongSupplier nanoTime;
    private final Map<EventKind, HeldEvents> kinds = new ConcurrentHashMap<>();
    /** The number of subjects of each message, by the kind without a subject. */
    private final Map<EventKind, Integer> subjects = new ConcurrentHashMap<>();

    /** @param nanoTime as {@link System#nanoTime()} */
    RepetitionLimit(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    /** What is the same for events that are alike. */
    private record EventKind(String logger, Level level, String template, String subject) {
        EventKind withoutSubject() {
            return new EventKind(logger, level, template, "");
        }
    }

    /**
     * The events of one kind since the last line.
     *
     * @param since the time of that line
     * @param last null if there was none
     */
    private record HeldEvents(
            long since, long count, @Nullable ILoggingEvent last) {}

    /** Whether an event is to be written now; otherwise it is kept or counted. */
    boolean admits(ILoggingEvent event) {
        if (!repeats(event)) {
            return true;
        }
        long now = nanoTime.getAsLong();
        HeldEvents after = kinds.compute(
                kind(event),
                (kind, held) ->
                        held == null ? first(kind, now) : new HeldEvents(held.since(), held.count() + 1, event));
        return after.count() == 0;
    }

    private HeldEvents first(EventKind kind, long now) {
        subjects.merge(kind.withoutSubject(), 1, Integer::sum);
        return new HeldEvents(now, 0, null);
    }

    private void forget(EventKind kind) {
        subjects.computeIfPresent(kind.withoutSubject(), (message, number) -> number == 1 ? null : number - 1);
    }

    private static boolean repeats(ILoggingEvent event) {
        if (event.getMarkerList() != null && event.getMarkerList().contains(RepeatingLogEvent.MARKER)) {
            return true;
        }
        return event.getLevel().isGreaterOrEqual(Level.WARN) && LogArea.of(event.getLoggerName()) == LogArea.LIBRARIES;
    }

    private EventKind kind(ILoggingEvent event) {
        EventKind kind = new EventKind(
                event.getLoggerName(), event.getLevel(), String.valueOf(event.getMessage()), subject(event));
        if (kinds.containsKey(kind)) {
            return kind;
        }
        // A race may exceed either limit by a few, which is harmless.
        EventKind message = kind.withoutSubject();
        if (kinds.size() >= MAX_KINDS) {
            return new EventKind(event.getLoggerName(), event.getLevel(), "", "");
        }
        return subjects.getOrDefault(message, 0) >= MAX_SUBJECTS ? message : kind;
    }

    private static String subject(ILoggingEvent event) {
        List<KeyValuePair> pairs = event.getKeyValuePairs();
        if (pairs == null) {
            return "";
        }
        StringBuilder subject = new StringBuilder();
        for (KeyValuePair pair : pairs) {
            if (SUBJECT.contains(pair.key)) {
                subject.append(pair.key).append('=').append(pair.value).append('\n');
            }
        }
        return subject.toString();
    }

    /** The lines that are due: the last event of each kind whose minute is over. Forgets kinds that have stopped. */
    List<LogLine> due() {
        return taken(nanoTime.getAsLong(), MINUTE_NANOS);
    }

    /** The lines of all events that were left out. */
    List<LogLine> rest() {
        return taken(nanoTime.getAsLong(), Long.MIN_VALUE);
    }

    private List<LogLine> taken(long now, long age) {
        List<LogLine> lines = new ArrayList<>();
        for (EventKind kind : kinds.keySet()) {
            kinds.computeIfPresent(kind, (key, held) -> {
                if (now - held.since() < age) {
                    return held;
                }
                if (held.last() == null && age == MINUTE_NANOS) {
                    forget(key);
                    return null;
                }
                if (held.last() == null) {
                    return held;
                }
                lines.add(new LogLine(held.last(), held.count()));
                return new HeldEvents(now, 0, null);
            });
        }
        return lines;
    }
}
