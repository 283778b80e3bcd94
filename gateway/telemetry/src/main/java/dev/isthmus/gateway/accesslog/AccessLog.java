package dev.isthmus.gateway.accesslog;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.logfile.BackgroundWriter;
import dev.isthmus.gateway.logfile.LogOutput;
import dev.isthmus.gateway.logfile.ModelShares;
import dev.isthmus.gateway.logfile.Reloadable;
import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.settings.AccessLogConfig;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.channel.EventLoop;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.DoubleSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The access log of one configuration. A line is written into memory when its call ends, into a buffer of the call's
 * event loop; a thread of its own writes the buffers to the output, so that a slow or full disk delays no call. If the
 * buffer is full, the line is dropped and counted. Thread-safe.
 */
final class AccessLog implements Reloadable.Replaced {
    private static final Logger LOG = LoggerFactory.getLogger(AccessLog.class);
    /** Largest size of one event loop's lines that are not yet taken by the thread. */
    private static final int MAX_BYTES = 1 << 20;
    /** Size of an array at first; larger ones than the second size are not used again. */
    private static final int FIRST_BYTES = 16 << 10;

    private static final int KEPT_BYTES = 256 << 10;
    /** Size from which the thread is woken. */
    private static final int WAKE_BYTES = 64 << 10;

    private static final long INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private final AccessLogConfig config;
    private final CallSampler sampler;
    private final LogOutput output;
    private final Counter written;
    private final Counter full;
    private final Counter failed;
    private final Map<EventLoop, LoopLines> buffers = new ConcurrentHashMap<>();
    private final BackgroundWriter writer = new BackgroundWriter("isthmus-access-log", this::run);
    /** Of the thread. */
    private final TakenLines taken = new TakenLines();

    /** Starts the thread; opens no file before there is a line. */
    AccessLog(AccessLogConfig config, MeterRegistry meters) {
        this.config = config;
        sampler = new CallSampler(config, () -> ThreadLocalRandom.current().nextDouble());
        output = new LogOutput(config.file(), config.rotateAt(), config.keep());
        written = Counter.builder("isthmus.access.log.lines")
                .description("Lines written to the access log")
                .register(meters);
        full = dropped(meters, "full");
        failed = dropped(meters, "io_error");
        writer.start();
    }

    private static Counter dropped(MeterRegistry meters, String reason) {
        return Counter.builder("isthmus.access.log.dropped.lines")
                .description("Lines of the access log that were not written: full (the output is too slow), io_error")
                .tag("reason", reason)
                .register(meters);
    }

    /** Writes the line of a call that has ended, if it is to be logged. */
    void log(CallContext call) {
        if (!sampler.logs(call)) {
            return;
        }
        LoopLines lines = buffers.get(call.loop());
        if (lines == null) {
            lines = buffers.computeIfAbsent(call.loop(), each -> new LoopLines());
        }
        if (!lines.add(call)) {
            full.increment();
        }
    }

    private void run() {
        writer.repeat(INTERVAL_NANOS, this::writeAll);
        try {
            output.close();
        } catch (IOException e) {
            warn(e);
        }
    }

    private void writeAll() {
        buffers.values().forEach(this::write);
    }

    private void write(LoopLines lines) {
        int count = lines.take(taken);
        if (count == 0) {
            return;
        }
        try {
            output.write(taken.bytes, taken.length);
            written.increment(count);
        } catch (IOException e) {
            failed.increment(count);
            warn(e);
        }
        if (taken.bytes.length > KEPT_BYTES) {
            taken.bytes = new byte[FIRST_BYTES];
        }
    }

    private void warn(IOException failure) {
        LOG.atWarn()
                .addMarker(RepeatingLogEvent.MARKER)
                .addKeyValue("file", config.file())
                .log(
                        "access log: lines are lost, because {} cannot be written ({}); free space or change"
                                + " 'access_log'",
                        config.file(),
                        FailureReason.of(failure));
    }

    @Override
    public void close() {
        writer.close();
    }

    /** Lines that were taken from a loop, and then the array that the next loop goes on with. */
    private static final class TakenLines {
        byte[] bytes = new byte[FIRST_BYTES];
        int length;
    }

    /** The lines of one event loop. Its lock is contended only while the thread exchanges the array. */
    private final class LoopLines {
        private final LineWriter out = new LineWriter(FIRST_BYTES);
        private final AccessLogLine line = new AccessLogLine(out, config.headers());
        private int count;

        synchronized boolean add(CallContext call) {
            int before = out.length();
            if (before >= MAX_BYTES || writer.isClosed()) {
                return false;
            }
            line.write(call, System.currentTimeMillis());
            count++;
            if (before < WAKE_BYTES && out.length() >= WAKE_BYTES) {
                writer.wake();
            }
            return true;
        }

        /** Exchanges the array for the lines; returns their number. */
        synchronized int take(TakenLines exchanged) {
            int lines = count;
            if (lines > 0) {
                exchanged.length = out.length();
                exchanged.bytes = out.take(exchanged.bytes);
                count = 0;
            }
            return lines;
        }
    }

    /** Decides which calls are logged: failed and slow ones always, the others by the share of their model. Thread-safe. */
    static final class CallSampler {
        private final ModelShares shares;
        private final long slowNanos;
        private final DoubleSupplier random;

        /** @param random from 0 to less than 1 */
        CallSampler(AccessLogConfig config, DoubleSupplier random) {
            this.shares = new ModelShares(config.sample(), config.models());
            this.random = random;
            this.slowNanos =
                    config.slow().isZero() ? Long.MAX_VALUE : config.slow().toNanos();
        }

        /** Whether a call that has ended is logged. */
        boolean logs(CallContext call) {
            if (call.code() != null || call.totalNanos() >= slowNanos) {
                return true;
            }
            Operation operation = call.operation();
            double wanted = shares.of(operation == null ? null : operation.requestedModel());
            return wanted >= 1 || (wanted > 0 && random.getAsDouble() < wanted);
        }
    }
}
