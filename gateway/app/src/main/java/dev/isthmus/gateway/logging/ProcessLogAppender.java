package dev.isthmus.gateway.logging;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.UnsynchronizedAppenderBase;
import dev.isthmus.gateway.settings.LoggingConfig.LogFormat;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

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
            } catch (RuntimeException fault) {
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
}
