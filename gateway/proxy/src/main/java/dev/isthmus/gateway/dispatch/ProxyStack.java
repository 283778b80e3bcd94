package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.GatewayReadiness;
import dev.isthmus.gateway.call.HexIds;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.call.LayerFactory;
import dev.isthmus.gateway.call.Layers;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.call.Slot;
import dev.isthmus.gateway.dispatch.RoutePolicyTable.CachePurging;
import dev.isthmus.gateway.dispatch.RoutePolicyTable.RateLimiting;
import dev.isthmus.gateway.dispatch.RoutePolicyTable.TargetMetering;
import dev.isthmus.gateway.dispatch.RoutedCall.Routing;
import dev.isthmus.gateway.extauthz.ExternalAuthorization;
import dev.isthmus.gateway.limit.Admission;
import dev.isthmus.gateway.metrics.CallMetrics;
import dev.isthmus.gateway.metrics.TargetMeters;
import dev.isthmus.gateway.pool.Upstreams.UpstreamResources;
import dev.isthmus.gateway.ramp.Ramps;
import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.RoutingTable;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.settings.BuiltInLayer;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.gateway.settings.LayersConfig.AddedLayer;
import dev.isthmus.gateway.settings.RequestValidation;
import dev.isthmus.gateway.validation.ModelSignatures;
import dev.isthmus.gateway.validation.RequestValidator;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.message.NonFinite;
import dev.isthmus.transcoder.message.WireLimits;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.buffer.ByteBuf;
import io.netty.util.AsciiString;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The layers that each call passes, from its client to what answers it: {@link BuiltInLayer} is the list, {@link #layer}
 * makes each, and {@link Dispatcher} is behind it. Every kind of inference passes the whole list: unary ones, those with
 * a stream of responses, the generate extension, and each message of a stream.
 *
 * @param access who may send what
 * @param keys names routes for metrics and logs
 * @param signatures what requests are compared with
 */
public record ProxyStack(
        GatewayConfig config,
        CallerAccess access,
        RoutingTable routes,
        RouteKeys keys,
        RoutePolicyTable policies,
        ModelSignatures signatures,
        MeterRegistry meters) {

    /**
     * One of the gateway's own layers.
     *
     * @param recording has those that record calls, and those of the gateway itself
     */
    public Layer layer(BuiltInLayer layer, Function<BuiltInLayer, Layer> recording) {
        return switch (layer) {
            case REQUEST_IDS -> new RequestIds(config.headers().forwarded().contains("x-request-id"));
            case ERROR_TEXTS ->
                new GenericErrorTexts(config.answers().errors() == GatewayConfig.ErrorTexts.CLIENT_ERRORS, routes);
            case AUTHENTICATION -> Objects.requireNonNull(access.authentication());
            case AUTHORIZATION -> access.authorization();
            case ADMISSION -> new AdmissionControl(policies.admission());
            case ROUTING -> new Routing(routes, keys, policies, access.policy());
            case RATE_LIMITS -> new RateLimiting();
            case TARGET_METRICS -> new TargetMetering();
            case RAMPS -> new RampTiming(policies.ramps(), policies.nanoTime());
            case VALIDATION -> validation(config.validate());
            case CACHE_PURGE -> new CachePurging(policies.caches(), routes);
            default -> recording.apply(layer);
        };
    }

    /** @param otherwise what happens to requests for models without an own 'validate' */
    private Layer validation(RequestValidation otherwise) {
        return new RequestValidator(
                requested -> {
                    Route route = routes.find(requested);
                    return route == null
                            ? RequestValidation.OFF
                            : Objects.requireNonNullElse(route.config().validate(), otherwise);
                },
                requested -> keys.of(routes.find(requested), requested),
                signatures,
                meters);
    }

    /**
     * The stack of one configuration.
     *
     * @param layers the outermost first
     * @param fleet handles everything but inference: requests that concern the whole fleet, metadata, management
     */
    public static Layers of(
            List<Layer> layers,
            Service fleet,
            InferRules rules,
            Transcoder transcoder,
            GatewayReadiness gateway,
            MeterRegistry meters,
            LongSupplier nanoTime) {
        return new Layers(layers, new Dispatcher(fleet, rules, transcoder, gateway)::open, meters, nanoTime);
    }

    /**
     * Settings of all inferences.
     *
     * @param nonFinite how NaN and the infinities are written as JSON for clients that do not specify it
     */
    public record InferRules(WireLimits limits, NonFinite nonFinite) {

        /** Those of a configuration. */
        public static InferRules of(GatewayConfig config) {
            WireLimits limits = WireLimits.DEFAULT
                    .withBodyBytes(config.limits().maxBodySize())
                    .withTensors(config.limits().maxTensors());
            return new InferRules(limits, config.answers().nonFinite());
        }

        /** The form of NaN and the infinities in the response to a request: the client's, or the configured one. */
        NonFinite nonFinite(Operation.BodyForm.RestForm request) {
            return request.nonFinite() == null ? nonFinite : request.nonFinite();
        }
    }

    /** Names routes for metrics and logs, from a bounded set. */
    @FunctionalInterface
    public interface RouteKeys {
        /** The name for models without a route. */
        String OTHER = "other";

        /**
         * The name of a route.
         *
         * @param route the model's route; null if no upstream serves it
         */
        String of(@Nullable Route route, ModelRef model);

        /**
         * The keys of routes, and names of models that have none of their own, as long as their number allows that.
         *
         * @param listed whether a server lists a model of this name
         */
        static RouteKeys of(CallMetrics calls, Predicate<String> listed) {
            return (route, model) -> {
                if (route == null) {
                    return OTHER;
                }
                String key = route.key();
                // Configured models have a key of their own; discovered ones get one for their metrics.
                boolean found = key.equals(RoutingTable.DEFAULT) || key.equals(RoutingTable.DISCOVERED);
                return found && listed.test(model.name()) ? calls.named(model.name(), key) : key;
            };
        }
    }

    /** The layers of a configuration that are closed with it: those that jars bring, and the one that asks a service. */
    public static final class AddedLayers {
        private static final Logger LOG = LoggerFactory.getLogger(AddedLayers.class);

        private final GatewayConfig config;
        private final UpstreamResources resources;
        private final List<Layer> created = new ArrayList<>();

        public AddedLayers(GatewayConfig config, UpstreamResources resources) {
            this.config = config;
            this.resources = resources;
        }

        /**
         * The layers of the configuration, the outermost first; creates the added ones. May block.
         *
         * @param own makes the gateway's other ones
         * @throws IllegalArgumentException if one cannot be created
         */
        public List<Layer> among(Function<BuiltInLayer, Layer> own) {
            return config.layers()
                    .placed(
                            config,
                            each -> each == BuiltInLayer.EXTERNAL_AUTHORIZATION ? asking() : own.apply(each),
                            this::create);
        }

        private Layer asking() {
            Layer layer = new ExternalAuthorization(Objects.requireNonNull(config.externalAuthorization()), resources);
            created.add(layer);
            return layer;
        }

        private Layer create(AddedLayer added) {
            String name = added.name();
            Layer layer;
            try {
                if (!(added.settings() instanceof LayerFactory factory)) {
                    throw new IllegalArgumentException("settings that implement LayerFactory are expected");
                }
                layer = factory.layer(name, resources.clusterResources().meters());
            } catch (RuntimeException | Error e) {
                throw new IllegalArgumentException("the layer '" + name + "' cannot be created: " + e.getMessage(), e);
            }
            created.add(layer);
            if (!layer.name().equals(name)) {
                throw new IllegalArgumentException(
                        "the layer '" + name + "' is expected to return this name, got '" + layer.name() + "'");
            }
            return layer;
        }

        /** No call passes them any more. */
        public void close() {
            for (Layer each : created) {
                try {
                    each.close();
                } catch (RuntimeException | Error fault) {
                    LOG.error("the layer '{}' has a fault: it cannot be closed", each.name(), fault);
                }
            }
            created.clear();
        }
    }

    /** The layer that reports outcome and latency of each request to the ramp of its route. */
    record RampTiming(Ramps ramps, LongSupplier nanoTime) implements Layer {
        private static final Slot<ResponseTimer> TIMER = new Slot<>();

        @Override
        public String name() {
            return "ramps";
        }

        @Override
        public void sending(Exchange exchange) {
            RoutedCall routed = RoutedCall.in(exchange);
            if (routed != null && routed.policies().config().ramp() != null) {
                ResponseTimer timer = exchange.get(TIMER);
                if (timer == null) {
                    timer = new ResponseTimer(nanoTime);
                    exchange.put(TIMER, timer);
                }
                timer.sending();
            }
        }

        @Override
        public void responding(Exchange exchange) {
            ResponseTimer timer = exchange.get(TIMER);
            if (timer != null) {
                timer.responded();
            }
        }

        @Override
        public void targetEnded(Exchange exchange, @Nullable OipException failure) {
            ResponseTimer timer = exchange.get(TIMER);
            if (timer == null) {
                return;
            }
            timer.responded();
            RoutedCall routed = RoutedCall.of(exchange);
            Target target = routed.target();
            if (timer.isKnown() && target != null) {
                boolean failed = failure != null && Ramps.counts(failure.code());
                TargetMeters.TargetMeter meter = TargetMetering.meter(exchange);
                if (meter != null && !failed) {
                    meter.responded(timer.nanos());
                }
                ramps.record(routed.route().key(), target.arm(), failed, timer.nanos());
            }
        }

        /** Measures a target's response time: until the response is complete, or starts to be forwarded. */
        static final class ResponseTimer {
            private static final long NOT_YET = -1;

            private final LongSupplier nanoTime;
            private long sentAt;
            private long nanos = NOT_YET;
            private boolean running;

            ResponseTimer(LongSupplier nanoTime) {
                this.nanoTime = nanoTime;
            }

            /** The request is sent. */
            void sending() {
                sentAt = nanoTime.getAsLong();
                nanos = NOT_YET;
                running = true;
            }

            /** The response is received; only the first call since the request was sent counts. */
            void responded() {
                if (running) {
                    running = false;
                    nanos = nanoTime.getAsLong() - sentAt;
                }
            }

            /** Whether the response has been received since the request was sent. */
            boolean isKnown() {
                return nanos >= 0;
            }

            long nanos() {
                return nanos;
            }
        }
    }

    /**
     * Gives each call a request id: the client's {@code x-request-id}, or a new one if that is missing, longer than 128
     * characters, or has characters other than ASCII letters, digits and ._~:/+=@-. Every response has it, errors included,
     * and servers get it. Thread-safe.
     *
     * @param forwarded whether servers get the id of a call
     */
    record RequestIds(boolean forwarded) implements Layer {
        private static final int MAX_LENGTH = 128;
        private static final String OTHERS = "._~:/+=@-";

        @Override
        public String name() {
            return "request_ids";
        }

        @Override
        public void began(Exchange exchange) {
            String received = exchange.context().headers().value(HeaderAllowList.REQUEST_ID);
            AsciiString kept = received != null && acceptable(received) ? AsciiString.of(received) : null;
            AsciiString id = kept == null ? HexIds.random128() : kept;
            if (forwarded && received != null && kept == null && exchange.isCall()) {
                exchange.call(exchange.call().withHeader(HeaderAllowList.REQUEST_ID, id.toString()));
            }
            exchange.context().identified(id, forwarded && received == null);
            exchange.identified(id);
        }

        private static boolean acceptable(String id) {
            if (id.isEmpty() || id.length() > MAX_LENGTH) {
                return false;
            }
            for (int i = 0; i < id.length(); i++) {
                char c = id.charAt(i);
                boolean alphanumeric = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
                if (!alphanumeric && OTHERS.indexOf(c) < 0) {
                    return false;
                }
            }
            return true;
        }
    }

    /**
     * The layer that limits concurrent calls, of all callers and of each, and the memory of their requests. A call acquires a concurrency permit when
     * its request is complete, so that no client holds one by sending nothing; a stream of requests acquires it with its
     * first message. The permit is released when the call ends or its client disconnects; until then the call counts the
     * memory of its request. Without a permit or memory, the call fails. Health and metadata requests are always admitted.
     */
    record AdmissionControl(Admission admission) implements Layer {
        private static final Slot<Admission.Permit> PERMIT = new Slot<>();

        @Override
        public String name() {
            return "admission";
        }

        @Override
        public @Nullable CompletableFuture<?> open(Exchange exchange) {
            if (exchange.stream() == null && exchange.call().operation().needsPermit()) {
                admission.check(exchange.context().principal().name());
                exchange.countMemory();
            }
            return null;
        }

        @Override
        public void data(Exchange exchange, ByteBuf part) {
            if (exchange.call().operation() instanceof Operation.InferStream) {
                acquire(exchange);
            }
        }

        @Override
        public void complete(Exchange exchange) {
            Operation operation = exchange.call().operation();
            if (exchange.stream() == null && !(operation instanceof Operation.InferStream) && operation.needsPermit()) {
                acquire(exchange);
            }
        }

        private void acquire(Exchange exchange) {
            if (exchange.get(PERMIT) == null) {
                exchange.put(
                        PERMIT, admission.acquire(exchange.context().principal().name()));
            }
        }

        @Override
        public void finished(Exchange exchange) {
            Admission.Permit permit = exchange.get(PERMIT);
            if (permit != null) {
                permit.release();
            }
        }
    }
}
