package dev.isthmus.gateway.logging;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.UnsynchronizedAppenderBase;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.settings.LogArea;
import dev.isthmus.gateway.settings.LoggingConfig.LogFormat;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.event.KeyValuePair;

/**
 * Writes the log to standard error, in a thread of its own, so that a slow reader of it delays no call. If too many
 * lines wait, further ones are dropped and counted in the next line.
 */
public final class ProcessLogAppender extends UnsynchronizedAppenderBase<ILoggingEvent> {
    /** Lines that may wait. */
    private static final int MAX_WAITING = 4096;

    private static final int TICK_MILLIS = 500;

    /** What the thread does, in order. */
    private final BlockingQueue<Runnable> waiting = new ArrayBlockingQueue<>(MAX_WAITING);

    private final RepetitionLimit repetitions;
    private final AtomicLong dropped = new AtomicLong();
    private final Supplier<PrintStream> out;
    private volatile LogFormat format = LogFormat.TEXT;
    private volatile Runnable everyTick = () -> {};
    private @Nullable Thread thread;
    // Guarded by this.
    private @Nullable ProcessLog log;

    /** The appender of the process: it writes to standard error. */
    @SuppressWarnings("SystemOut") // where logs go
    public ProcessLogAppender() {
        this(() -> System.err, new RepetitionLimit(System::nanoTime));
    }

    /** @param out where lines are written to, asked for each */
    ProcessLogAppender(Supplier<PrintStream> out, RepetitionLimit repetitions) {
        this.out = out;
        this.repetitions = repetitions;
        setName("process");
    }

    /** The form of lines from here on. */
    void format(LogFormat next) {
        format = next;
    }

    LogFormat format() {
        return format;
    }

    /** The one that configures this appender, made if there is none yet. */
    synchronized ProcessLog log(Supplier<ProcessLog> maker) {
        ProcessLog known = log;
        if (known == null) {
            known = maker.get();
            log = known;
        }
        return known;
    }

    /** Something to be done twice a second. */
    void everyTick(Runnable task) {
        everyTick = task;
    }

    @Override
    public void start() {
        super.start();
        Thread writer = Thread.ofPlatform().daemon().name("isthmus-log").unstarted(this::run);
        thread = writer;
        writer.start();
    }

    @Override
    protected void append(ILoggingEvent event) {
        // Arguments may change later.
        event.prepareForDeferredProcessing();
        if ((unlimited(event) || repetitions.admits(event)) && !waiting.offer(() -> write(new LogLine(event, 0)))) {
            dropped.incrementAndGet();
        }
    }

    private boolean unlimited(ILoggingEvent event) {
        return event.getMarkerList() != null
                && getContext() instanceof LoggerContext loggers
                && loggers.getLogger(event.getLoggerName()).isEnabledFor(Level.DEBUG);
    }

    private void run() {
        long tick = System.nanoTime();
        while (isStarted()) {
            try {
                Runnable next = waiting.poll(TICK_MILLIS, TimeUnit.MILLISECONDS);
                if (next != null) {
                    next.run();
                }
                long now = System.nanoTime();
                if (now - tick >= TimeUnit.MILLISECONDS.toNanos(TICK_MILLIS)) {
                    tick = now;
                    repetitions.due().forEach(this::write);
                    everyTick.run();
                }
            } catch (InterruptedException stopped) {
                return;
            } catch (RuntimeException | Error fault) {
                addError("a line could not be written", fault);
            }
        }
    }

    private void write(LogLine line) {
        long lost = dropped.getAndSet(0);
        String text = line.in(format) + (lost == 0 ? "" : LogLine.lost(lost).in(format));
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        PrintStream to = out.get();
        to.write(bytes, 0, bytes.length);
        to.flush();
    }

    /** Writes what waits and what was left out. Blocks, for at most this time; no effect in the log's own thread. */
    void flush(Duration timeout) {
        if (!isStarted() || Thread.currentThread() == thread) {
            return;
        }
        repetitions.rest().forEach(line -> waiting.offer(() -> write(line)));
        CountDownLatch done = new CountDownLatch(1);
        try {
            long end = System.nanoTime() + timeout.toNanos();
            if (waiting.offer(done::countDown, timeout.toNanos(), TimeUnit.NANOSECONDS)) {
                done.await(end - System.nanoTime(), TimeUnit.NANOSECONDS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void stop() {
        flush(Duration.ofSeconds(1));
        super.stop();
        Thread writer = thread;
        if (writer != null) {
            writer.interrupt();
        }
    }

    /**
     * What repeats is written once a minute: the first event at once, and after each minute the last one with the number of
     * those left out. Two events are alike if level, logger and template are the same, and the members that say what they
     * are about. Only events marked with {@link RepeatingLogEvent#MARKER} are limited, and warnings of libraries. Thread-safe.
     */
    static final class RepetitionLimit {
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
            return event.getLevel().isGreaterOrEqual(Level.WARN)
                    && LogArea.of(event.getLoggerName()) == LogArea.LIBRARIES;
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
}
