package dev.isthmus.gateway.shadow;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.net.EventLoops;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.upstream.InferSource;
import dev.isthmus.gateway.upstream.RouteService;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamRequest.InferenceRequest;
import dev.isthmus.gateway.upstream.UpstreamStream;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.message.Wire;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The shadows of one route, which get copies of its calls. Thread-safe. */
public final class Shadows implements RouteService {
    private static final Logger LOG = LoggerFactory.getLogger(Shadows.class);

    private final String model;
    private final List<Shadow> shadows;
    private final Function<ModelRef, List<Target>> targets;

    private Shadows(String model, List<Shadow> shadows, Function<ModelRef, List<Target>> targets) {
        this.model = model;
        this.shadows = shadows;
        this.targets = targets;
    }

    /**
     * The shadows of a route.
     *
     * @param model the route's key, for metrics
     * @param targets the targets of the copies of a call for a model: one for each of {@code configs}, in the same
     *     order
     */
    public static Shadows of(
            String model,
            List<ModelConfig.ShadowConfig> configs,
            Function<ModelRef, List<Target>> targets,
            Transcoder transcoder,
            ShadowRuntime runtime) {
        return new Shadows(
                model,
                configs.stream()
                        .map(config -> Shadow.of(new ShadowName(model, config.label()), config, transcoder, runtime))
                        .toList(),
                targets);
    }

    /** Requests are kept for their copies, so that none passes in parts. */
    @Override
    public long passesFrom(long inner) {
        return Long.MAX_VALUE;
    }

    @Override
    public Subscription send(Upstream inner, Call call, UpstreamRequest request, Reply reply) {
        if (request instanceof InferenceRequest inference) {
            return new ShadowedCall(this, reply).send(inner, call, inference);
        }
        if (request instanceof UpstreamRequest.GenerateRequest) {
            leaveOut();
        }
        return inner.send(call, request, reply);
    }

    @Override
    public UpstreamStream inferStream(Upstream inner, Call call, ModelRef served, Reply reply) {
        return new ShadowedStream(this, inner.inferStream(call, served, reply));
    }

    /** A request of a kind that is never copied is sent. */
    void leaveOut() {
        for (Shadow each : shadows) {
            if (each.sampled()) {
                each.figures().count(ShadowOutcome.STREAM);
            }
        }
    }

    @Override
    public boolean servesFallback() {
        return false;
    }

    /**
     * Called when a call was sent to its primary target: samples the copies and schedules them on the loop. Called on
     * the call's event loop; throws nothing.
     *
     * @param requested the model as requested from the route
     * @param primary the call's target: a shadow with the same destination gets no copy, which could only be compared
     *     with itself
     * @param source taken
     */
    ShadowCopies begin(Call call, ModelRef requested, Target primary, InferSource source) {
        List<ShadowCopy> copies = List.of();
        try {
            copies = copies(call, requested, primary);
        } catch (RuntimeException fault) {
            CallLog.of(RepeatingLogEvent.fault(LOG, fault), call.context())
                    .log("internal error in sampling the shadows of model '{}'; please report it", model);
        }
        if (copies.isEmpty()) {
            source.release();
            return ShadowCopies.NONE;
        }
        ShadowCopies shadowCopies = new ShadowCopies(copies, source);
        if (EventLoops.handOver(call.loop(), shadowCopies::send)) {
            return shadowCopies;
        }
        shadowCopies.drop();
        return ShadowCopies.NONE;
    }

    /** Everything that can fail runs before the first permit is acquired. */
    private List<ShadowCopy> copies(Call call, ModelRef requested, Target primary) {
        boolean[] sampled = new boolean[shadows.size()];
        boolean any = false;
        for (int i = 0; i < sampled.length; i++) {
            sampled[i] = shadows.get(i).sampled();
            any |= sampled[i];
        }
        if (!any) {
            return List.of();
        }
        ShadowOutcome leftOut = leftOut(call);
        List<Target> copyTargets = targets.apply(requested);
        List<ShadowCopy> copies = new ArrayList<>();
        for (int i = 0; i < sampled.length; i++) {
            Shadow shadow = shadows.get(i);
            if (sampled[i] && leftOut != null) {
                shadow.figures().count(leftOut);
            } else if (sampled[i] && same(copyTargets.get(i), primary)) {
                shadow.figures().count(ShadowOutcome.SAME_TARGET);
            } else if (sampled[i] && shadow.copies().tryAcquire()) {
                copies.add(new ShadowCopy(shadow, copyTargets.get(i), call));
            } else if (sampled[i]) {
                shadow.figures().count(ShadowOutcome.BUSY);
            }
        }
        return copies;
    }

    private static boolean same(Target copy, Target primary) {
        return copy.upstream().equals(primary.upstream()) && copy.model().equals(primary.model());
    }

    private static @Nullable ShadowOutcome leftOut(Call call) {
        if (!(call.operation() instanceof Operation.Infer infer) || infer.stream()) {
            return ShadowOutcome.STREAM;
        }
        return call.sequence() ? ShadowOutcome.SEQUENCE : null;
    }

    /** Ends the shadows. Statistics that no other configuration uses are removed. */
    @Override
    public void close() {
        shadows.forEach(Shadow::close);
    }

    /** A stream, whose requests are counted and not copied. */
    record ShadowedStream(Shadows shadows, UpstreamStream stream) implements UpstreamStream {
        @Override
        public void send(Call request, InferenceRequest message, boolean emptyFinal) {
            shadows.leaveOut();
            stream.send(request, message, emptyFinal);
        }

        @Override
        public void ended(long nanos, @Nullable OipException failure) {
            stream.ended(nanos, failure);
        }

        @Override
        public void end() {
            stream.end();
        }

        @Override
        public long keptBytes() {
            return stream.keptBytes();
        }

        @Override
        public boolean isReady() {
            return stream.isReady();
        }

        @Override
        public void onReady() {
            stream.onReady();
        }

        @Override
        public void cancel() {
            stream.cancel();
        }
    }

    /** A request that was sent, and its copies. */
    static final class ShadowedCall extends ForwardingReply implements Subscription {
        private final Shadows shadows;
        private ShadowCopies copies = ShadowCopies.NONE;
        private Subscription inFlight = Subscription.NONE;
        private boolean ended;

        ShadowedCall(Shadows shadows, Reply client) {
            super(client);
            this.shadows = shadows;
        }

        /** @param request taken */
        Subscription send(Upstream inner, Call call, InferenceRequest request) {
            InferSource source = request.source();
            Target primary = new Target(request.server(), request.model(), "");
            source.retain();
            try {
                inFlight = inner.send(call, request, this).cancelIf(ended);
            } catch (RuntimeException | OutOfMemoryError e) {
                source.release();
                throw e;
            }
            if (ended) {
                source.release();
            } else {
                ModelRef requested = Objects.requireNonNull(call.operation().requestedModel());
                copies = shadows.begin(call, requested, primary, source);
            }
            return this;
        }

        /** What is compared is needed as a whole. */
        @Override
        public boolean acceptsParts(Wire wire, long length) {
            return !copies.compares() && super.acceptsParts(wire, length);
        }

        @Override
        public void message(ReplyMessage message) {
            if (message instanceof ReplyMessage.Inference inference) {
                copies.responded(inference.message());
            }
            super.message(message);
        }

        @Override
        public void complete() {
            end();
            super.complete();
        }

        @Override
        public void fail(OipException failure) {
            end();
            super.fail(failure);
        }

        private void end() {
            ended = true;
            copies.ended();
        }

        @Override
        public void cancel() {
            end();
            inFlight.cancel();
        }

        @Override
        public void onReady() {
            inFlight.onReady();
        }
    }

    /**
     * The copies of one call, which are notified of its end on the call's event loop, before the client's reply ends. Only the
     * first of {@link #responded} and {@link #ended} counts. Throws nothing.
     */
    static final class ShadowCopies {
        /** For a call without copies. */
        static final ShadowCopies NONE = new ShadowCopies(List.of(), null);

        private static final Logger LOG = LoggerFactory.getLogger(ShadowCopies.class);

        private final List<ShadowCopy> copies;
        private final @Nullable InferSource source;
        private boolean notified;

        ShadowCopies(List<ShadowCopy> copies, @Nullable InferSource source) {
            this.copies = copies;
            this.source = source;
        }

        void send() {
            if (source != null) {
                copies.forEach(copy -> copy.send(source));
                source.release();
            }
        }

        /** Drops the copies: the loop has terminated. */
        void drop() {
            copies.forEach(copy -> copy.drop(ShadowOutcome.CLOSED));
            if (source != null) {
                source.release();
            }
        }

        /** Whether the complete response is needed; if not, {@link #ended} suffices. */
        boolean compares() {
            return !notified && copies.stream().anyMatch(ShadowCopy::compares);
        }

        /** @param response on the server's wire, borrowed: parts that are kept are retained, not copied */
        void responded(InferMessage response) {
            notifyCopies(copy -> copy.primaryResponded(response));
        }

        /** There is no response to compare with: the call failed, or the client has disconnected. */
        void ended() {
            notifyCopies(ShadowCopy::primaryEnded);
        }

        private void notifyCopies(Consumer<ShadowCopy> notification) {
            if (notified || copies.isEmpty()) {
                return;
            }
            notified = true;
            for (ShadowCopy copy : copies) {
                try {
                    notification.accept(copy);
                } catch (RuntimeException fault) {
                    RepeatingLogEvent.fault(LOG, fault).log("internal error in a copy for a shadow; please report it");
                    copy.drop(ShadowOutcome.FAILED);
                }
            }
        }
    }
}
