package dev.isthmus.gateway.call;

import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.settings.Permission;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.RequestOutline;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.buffer.ByteBuf;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A list of layers, and what is behind them. For each method of {@link Layer} it has the layers that override it, so
 * that one that does not costs nothing. Thread-safe.
 */
public final class Layers implements Service {
    private static final Logger LOG = LoggerFactory.getLogger(Layers.class);

    private final List<Layer> all;
    private final Function<Exchange, RequestSink> handler;
    private final MeterRegistry meters;
    private final LongSupplier nanoTime;

    private final Layer[] head;
    private final Layer[] data;
    private final Layer[] complete;
    private final Layer[] parsed;
    private final Layer[] targetEnded;
    private final Layer[] message;
    private final Layer[] failure;

    final Layer[] began;
    final Layer[] open;
    final Layer[] opened;
    final Layer[] sized;
    final Layer[] transform;
    final Layer[] sending;
    final Layer[] responding;
    final Layer[] finished;
    final Layer[] ended;
    final Layer[] messageEnded;

    /**
     * @param all the outermost first
     * @param handler what is behind them: starts a call that they have let pass, whose reply the exchange receives
     * @param nanoTime on the scale of {@link System#nanoTime()}
     * @throws IllegalArgumentException if two have the same name
     */
    public Layers(
            List<? extends Layer> all,
            Function<Exchange, RequestSink> handler,
            MeterRegistry meters,
            LongSupplier nanoTime) {
        this.all = List.copyOf(all);
        this.handler = handler;
        this.nanoTime = nanoTime;
        this.meters = meters;
        List<String> names = all.stream().map(Layer::name).toList();
        if (names.stream().distinct().count() < names.size()) {
            throw new IllegalArgumentException("layers with different names are expected, got " + names);
        }
        all.forEach(this::faults);
        head = overriding("head");
        began = overriding("began");
        open = overriding("open");
        opened = overriding("opened");
        data = overriding("data");
        complete = overriding("complete");
        sized = overriding("sized");
        transform = overriding("transform");
        parsed = overriding("parsed");
        sending = overriding("sending");
        responding = inReverse(overriding("responding"));
        targetEnded = inReverse(overriding("targetEnded"));
        message = inReverse(overriding("message"));
        failure = inReverse(overriding("failure"));
        finished = inReverse(overriding("finished"));
        ended = inReverse(overriding("ended"));
        messageEnded = inReverse(overriding("messageEnded"));
    }

    private Counter faults(Layer layer) {
        return Counter.builder("isthmus.layer.faults")
                .description("Calls that a layer has ended because of a fault of its own")
                .tag("layer", layer.name())
                .register(meters);
    }

    private Layer[] overriding(String method) {
        return all.stream()
                .filter(layer -> Arrays.stream(layer.getClass().getMethods())
                        .anyMatch(each -> each.getName().equals(method) && each.getDeclaringClass() != Layer.class))
                .toArray(Layer[]::new);
    }

    private static Layer[] inReverse(Layer[] layers) {
        return Arrays.asList(layers).reversed().toArray(Layer[]::new);
    }

    /** The layers, the outermost first. */
    public List<Layer> all() {
        return all;
    }

    @Override
    public RequestSink open(Call call, Reply reply) {
        Exchange exchange = new Exchange(this, handler, call, call.context(), null, reply);
        exchange.open();
        return exchange.request();
    }

    @Override
    public void checkHead(CallContext call, Permission permission) {
        for (Layer each : head) {
            try {
                each.head(call, permission);
            } catch (RuntimeException | Error e) {
                throw failureIn(each, call, e);
            }
        }
    }

    @Override
    public void reject(CallContext context, OipException refusal, Reply reply) {
        new Exchange(this, handler, null, context, null, reply).reject(refusal);
    }

    /** The time on the scale of {@link System#nanoTime()}. */
    long now() {
        return nanoTime.getAsLong();
    }

    void data(Exchange exchange, ByteBuf part) {
        for (Layer each : data) {
            try {
                each.data(exchange, part);
            } catch (RuntimeException | Error e) {
                throw failureIn(each, exchange.context, e);
            }
        }
    }

    void complete(Exchange exchange) {
        for (Layer each : complete) {
            try {
                each.complete(exchange);
            } catch (RuntimeException | Error e) {
                throw failureIn(each, exchange.context, e);
            }
        }
    }

    boolean transforms(Exchange exchange) {
        for (Layer each : transform) {
            try {
                if (each.transforms(exchange)) {
                    return true;
                }
            } catch (RuntimeException | Error e) {
                throw failureIn(each, exchange.context, e);
            }
        }
        return false;
    }

    /** Whether a layer wants to see the outline of requests. */
    boolean showsOutline() {
        return parsed.length > 0;
    }

    void parsed(Exchange exchange, RequestOutline request) {
        for (Layer each : parsed) {
            try {
                each.parsed(exchange, request);
            } catch (RuntimeException | Error e) {
                throw failureIn(each, exchange.context, e);
            }
        }
    }

    /** What the client gets; null for nothing. */
    @Nullable
    ReplyMessage message(Exchange exchange, ReplyMessage message) {
        ReplyMessage shown = message;
        for (Layer each : this.message) {
            try {
                shown = each.message(exchange, shown);
            } catch (RuntimeException | Error e) {
                throw failureIn(each, exchange.context, e);
            }
            if (shown == null) {
                return null;
            }
        }
        return shown;
    }

    OipException failure(Exchange exchange, OipException reason) {
        OipException shown = reason;
        for (Layer each : failure) {
            try {
                shown = each.failure(exchange, shown);
            } catch (RuntimeException | Error e) {
                shown = failureIn(each, exchange.context, e);
            }
        }
        return shown;
    }

    void targetEnded(Exchange exchange, @Nullable OipException reason) {
        for (Layer each : targetEnded) {
            try {
                each.targetEnded(exchange, reason);
            } catch (RuntimeException | Error e) {
                failureIn(each, exchange.context, e);
            }
        }
    }

    /** The failure of a call in one of its layers: a refusal itself, INTERNAL for anything else, which is reported. */
    OipException failureIn(Layer layer, CallContext call, Throwable thrown) {
        Throwable cause =
                thrown instanceof CompletionException && thrown.getCause() != null ? thrown.getCause() : thrown;
        if (cause instanceof OipException || cause instanceof OutOfMemoryError) {
            return CallLog.failureOf(cause, call);
        }
        faults(layer).increment();
        CallLog.of(LOG.atError(), call)
                .addMarker(RepeatingLogEvent.MARKER)
                .addKeyValue("layer", layer.name())
                .setCause(cause)
                .log("internal error in the layer '{}'", layer.name());
        return new OipException(ErrorCode.INTERNAL, "internal error", cause);
    }
}
