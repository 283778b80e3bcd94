package dev.isthmus.gateway.payloadlog;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Slot;
import dev.isthmus.gateway.logfile.Reloadable;
import dev.isthmus.gateway.settings.PayloadLogConfig;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.buffer.ByteBuf;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The payload log of the current configuration; logs nothing if none is configured. Thread-safe. */
public final class ReloadablePayloadLog extends Reloadable<PayloadLogConfig, PayloadLog> implements Layer {
    private static final Slot<LoggedPayloads> LOGGED = new Slot<>();

    /** Logs nothing until it is configured. */
    public ReloadablePayloadLog(MeterRegistry meters) {
        super(new Function<>() {
            /** Of all configurations, from the first one on. */
            private @Nullable PayloadMeters shared;

            @Override
            public PayloadLog apply(PayloadLogConfig config) {
                shared = shared == null ? new PayloadMeters(meters) : shared;
                return new PayloadLog(
                        config, shared, () -> ThreadLocalRandom.current().nextDouble());
            }
        });
    }

    @Override
    public String name() {
        return "payload_log";
    }

    /** Shows the payloads of calls that are sampled to the log. */
    @Override
    public @Nullable CompletableFuture<?> open(Exchange exchange) {
        PayloadLog log = current();
        if (log != null && exchange.stream() == null) {
            exchange.put(LOGGED, logged(log, exchange.call()));
        }
        return null;
    }

    private static @Nullable LoggedPayloads logged(PayloadLog log, Call call) {
        double draw = log.draw();
        PayloadEvent.CallFacts facts =
                log.samples(draw, call.operation().requestedModel()) ? PayloadLog.facts(call) : null;
        if (facts == null) {
            return null;
        }
        if (call.operation() instanceof Operation.Infer || call.operation() instanceof Operation.Generate) {
            return new LoggedCall(log, facts, call);
        }
        return call.operation() instanceof Operation.InferStream ? new LoggedStream(log, facts, call, draw) : null;
    }

    @Override
    public void data(Exchange exchange, ByteBuf part) {
        LoggedPayloads logged = exchange.get(LOGGED);
        if (logged != null) {
            logged.requested(part);
        }
    }

    @Override
    public void complete(Exchange exchange) {
        LoggedPayloads logged = exchange.get(LOGGED);
        if (logged != null) {
            logged.requestComplete();
        }
    }

    @Override
    public ReplyMessage message(Exchange exchange, ReplyMessage message) {
        LoggedPayloads logged = exchange.get(LOGGED);
        if (logged != null) {
            logged.responded(message);
        }
        return message;
    }

    @Override
    public void finished(Exchange exchange) {
        Exchange stream = exchange.stream();
        LoggedPayloads logged = (stream == null ? exchange : stream).get(LOGGED);
        if (stream == null && logged != null) {
            CallContext call = exchange.context();
            ErrorCode code = exchange.isCancelled() || exchange.failure() != null ? call.code() : null;
            logged.ended(code == null ? null : new OipException(code, call.reason()));
        } else if (logged instanceof LoggedStream messages && exchange.isCall()) {
            messages.finished(exchange.call().operation().requestedModel());
        }
    }
}
