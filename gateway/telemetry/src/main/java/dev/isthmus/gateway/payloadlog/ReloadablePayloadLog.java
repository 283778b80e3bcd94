package dev.isthmus.gateway.payloadlog;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.ForwardingService;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.settings.PayloadLogConfig;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/** The payload log of the current configuration; logs nothing if none is configured. Thread-safe. */
public final class ReloadablePayloadLog implements AutoCloseable {
    private final MeterRegistry registry;
    private @Nullable PayloadMeters meters;
    private volatile @Nullable PayloadLog current;

    /** Logs nothing until it is configured. */
    public ReloadablePayloadLog(MeterRegistry meters) {
        registry = meters;
    }

    /** Changes the configuration; calls that begin from here on are logged as it says. Blocks while events are written. */
    public synchronized void configure(@Nullable PayloadLogConfig config) {
        PayloadLog before = current;
        if (before != null && before.config().equals(config)) {
            return;
        }
        if (before != null) {
            // First, because both may have the same file.
            current = null;
            before.close();
        }
        if (config != null) {
            PayloadMeters shared = meters == null ? new PayloadMeters(registry) : meters;
            meters = shared;
            current = new PayloadLog(
                    config, shared, () -> ThreadLocalRandom.current().nextDouble());
        }
    }

    /** The layer in front of a service that logs what passes. */
    public Service layer(Service next) {
        return new LoggingLayer(next);
    }

    /** Writes what is left. */
    @Override
    public void close() {
        configure(null);
    }

    /** Shows the payloads of calls that are sampled to the log; passes all others as they are. */
    private final class LoggingLayer extends ForwardingService {
        LoggingLayer(Service next) {
            super(next);
        }

        @Override
        public RequestSink open(Call call, Reply reply) {
            PayloadLog log = current;
            return log == null ? super.open(call, reply) : open(log, call, reply);
        }

        private RequestSink open(PayloadLog log, Call call, Reply reply) {
            double draw = log.draw();
            if (!log.samples(draw, call.operation().requestedModel())) {
                return super.open(call, reply);
            }
            PayloadEvent.CallFacts facts = PayloadLog.facts(call);
            if (facts == null) {
                return super.open(call, reply);
            }
            if (call.operation() instanceof Operation.Infer || call.operation() instanceof Operation.Generate) {
                LoggedCall logged = new LoggedCall(log, facts, call);
                return logged.request(super.open(call, logged.reply(reply)));
            }
            if (call.operation() instanceof Operation.InferStream) {
                LoggedStream logged = new LoggedStream(log, facts, call, draw);
                return logged.request(super.open(call, logged.reply(reply)));
            }
            return super.open(call, reply);
        }
    }
}
