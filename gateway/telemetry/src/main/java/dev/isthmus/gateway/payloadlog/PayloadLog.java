package dev.isthmus.gateway.payloadlog;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.ClientProtocol;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.logfile.BackgroundWriter;
import dev.isthmus.gateway.logfile.ModelShares;
import dev.isthmus.gateway.logfile.Reloadable;
import dev.isthmus.gateway.memory.ReservedBytes;
import dev.isthmus.gateway.metrics.LabelledCounters;
import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.payloadlog.EventSink.LossReason;
import dev.isthmus.gateway.payloadlog.PayloadEvent.PayloadKind;
import dev.isthmus.gateway.settings.PayloadLogConfig;
import dev.isthmus.gateway.settings.TlsFileException;
import dev.isthmus.oip.ModelRef;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.DoubleSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The payload log of one configuration. Calls add their payloads to a queue, which is limited in bytes; a thread of its
 * own encodes them and hands them to the sink, so that a slow sink delays no call. Thread-safe.
 */
final class PayloadLog implements Reloadable.Replaced {
    private static final Logger LOG = LoggerFactory.getLogger(PayloadLog.class);
    /** What an event takes beside its payload, in bytes: limits the number of events that wait. */
    private static final long EVENT_BYTES = 1024;

    private static final long POLL_MILLIS = 200;

    private final PayloadLogConfig config;
    private final ModelShares shares;
    private final DoubleSupplier random;
    private final ReservedBytes memory;
    private final PayloadMeters meters;
    private final PayloadEncoder encoder;
    private final LinkedBlockingQueue<PayloadEvent> queue = new LinkedBlockingQueue<>();
    private final BackgroundWriter writer;
    /** Whether the thread has ended. */
    private volatile boolean ended;

    /**
     * Opens neither file nor connection before there is an event.
     *
     * @param random from 0 to less than 1; thread-safe
     */
    PayloadLog(PayloadLogConfig config, PayloadMeters meters, DoubleSupplier random) {
        this.config = config;
        this.meters = meters;
        this.random = random;
        shares = new ModelShares(config.sample(), config.models());
        memory = new ReservedBytes(config.maxQueued());
        encoder = new PayloadEncoder(config, meters);
        EventSink sink = config.url() == null ? new FileSink(config, this) : new HttpSink(config, config.url(), this);
        writer = new BackgroundWriter("isthmus-payload-log", () -> run(sink));
    }

    /** A random number, against which the shares of models are compared; one for each call. */
    double draw() {
        return random.getAsDouble();
    }

    /** Whether calls of this model are logged; null for a stream, whose messages name their models. */
    boolean samples(double draw, @Nullable ModelRef model) {
        return (model == null && !shares.uniform()) || draw < shares.of(model);
    }

    boolean wants(PayloadKind kind) {
        return switch (config.events()) {
            case BOTH -> true;
            case REQUEST -> kind == PayloadKind.REQUEST;
            case RESPONSE -> kind == PayloadKind.RESPONSE;
        };
    }

    /** What all events of a call have in common; null if the gateway makes the call itself. */
    static PayloadEvent.@Nullable CallFacts facts(Call call) {
        CallContext context = call.context();
        ClientProtocol protocol = context.protocol();
        boolean stream = call.operation() instanceof Operation.InferStream
                || (call.operation() instanceof Operation.Infer infer && infer.stream());
        String operation = call.operation() instanceof Operation.Generate generate
                ? generate.stream() ? "generate_stream" : "generate"
                : "";
        return protocol == null
                ? null
                : new PayloadEvent.CallFacts(protocol, context.headers().value("traceparent"), operation, stream);
    }

    PayloadBuffer buffer(Call call) {
        return new PayloadBuffer(call.allocator(), memory, meters, config.maxSize());
    }

    /** Queues an event (taken), with the reservation of its payload. */
    void add(PayloadEvent event) {
        if (writer.isClosed()) {
            drop(event, LossReason.CLOSED);
        } else if (memory.reserve(EVENT_BYTES)) {
            queue.add(event);
            if (ended) {
                dropAll();
            }
        } else {
            drop(event, LossReason.FULL);
        }
    }

    /** Counts an event that could not be gathered. */
    void full() {
        lost(LossReason.FULL, "more than max_queued waits to be written");
    }

    private void drop(PayloadEvent event, LossReason reason) {
        event.release();
        free(event.held());
        if (reason == LossReason.FULL) {
            full();
        } else {
            lost(reason, "the log is closed");
        }
    }

    private void free(long bytes) {
        memory.release(bytes);
        meters.queued.addAndGet(-bytes);
    }

    private void run(EventSink sink) {
        try (sink) {
            while (!writer.isClosed() || !queue.isEmpty()) {
                PayloadEvent event = queue.poll(POLL_MILLIS, TimeUnit.MILLISECONDS);
                if (event != null) {
                    write(event, sink);
                }
            }
        } catch (InterruptedException late) {
            LOG.warn("payload log: closed before {} events were written", queue.size());
            Thread.currentThread().interrupt();
        }
        ended = true;
        dropAll();
    }

    private void dropAll() {
        for (PayloadEvent left = queue.poll(); left != null; left = queue.poll()) {
            memory.release(EVENT_BYTES);
            drop(left, LossReason.CLOSED);
        }
    }

    private void write(PayloadEvent event, EventSink sink) throws InterruptedException {
        try {
            sink.send(encoder.encode(event));
        } catch (TlsFileException unusable) {
            lost(LossReason.IO_ERROR, FailureReason.of(unusable));
        } catch (RuntimeException | OutOfMemoryError fault) {
            lost(LossReason.FAULT, fault.toString());
        } finally {
            memory.release(EVENT_BYTES);
            free(event.held());
        }
    }

    void delivered() {
        meters.delivered.increment();
    }

    /** @param failure what happened, for the process log */
    void lost(LossReason reason, String failure) {
        LabelledCounters.increment(meters.lost, reason);
        if (reason != LossReason.CLOSED) {
            RepeatingLogEvent.warn(LOG)
                    .addKeyValue("code", reason.label())
                    .log(
                            "payload log: events for {} are lost ({}): {}",
                            config.url() == null ? config.file() : config.url(),
                            reason.label(),
                            failure);
        }
    }

    @Override
    public BackgroundWriter writer() {
        return writer;
    }
}
