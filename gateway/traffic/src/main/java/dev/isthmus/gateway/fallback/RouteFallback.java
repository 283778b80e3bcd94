package dev.isthmus.gateway.fallback;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.upstream.CallbackReply;
import dev.isthmus.gateway.upstream.RouteService;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamFailures;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamRequest.InferenceRequest;
import dev.isthmus.gateway.upstream.UpstreamStream;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The fallback of a route. It takes a request over if the target fails before responding, with a failure of the server,
 * or has not responded after three quarters of the call's time. A request of a sequence stays with its target, which has
 * its state.
 */
public record RouteFallback(Route route) implements RouteService {
    /** Requests are kept, so that none passes in parts. */
    @Override
    public long passesFrom(long inner) {
        return Long.MAX_VALUE;
    }

    @Override
    public Subscription send(Upstream inner, Call call, UpstreamRequest request, Reply reply) {
        Target next = of(route, call);
        UpstreamRequest second = next == null ? null : request.to(next.upstream(), next.model());
        return next == null || second == null
                ? inner.send(call, request, reply)
                : new FallbackCall(call, next, second, reply).start(inner, request);
    }

    @Override
    public UpstreamStream inferStream(Upstream inner, Call call, ModelRef model, Reply reply) {
        return call.sequence()
                ? inner.inferStream(call, model, reply)
                : new FallbackStream(route, call, reply).open(inner, model);
    }

    @Override
    public boolean servesFallback() {
        return false;
    }

    /** The fallback for a request; null if there is none. */
    static @Nullable Target of(Route route, Call call) {
        ModelRef requested = call.operation().requestedModel();
        return requested == null || call.sequence() ? null : route.fallback(requested);
    }

    /** Whether a failure is one of the server and not of the request, and there is time left. */
    static boolean takesOver(Call call, OipException failure) {
        return switch (failure.code()) {
            case UNAVAILABLE, OVERLOADED, DEADLINE_EXCEEDED, BAD_UPSTREAM_ANSWER ->
                !failure.isResponseDropped() && (!call.hasDeadline() || call.deadlineNanos() - System.nanoTime() > 0);
            default -> false;
        };
    }

    /**
     * Starts the target's share of the time.
     *
     * @param late receives the failure when it is over
     * @return null if the call has no deadline
     */
    static @Nullable Future<?> share(Call call, String upstream, Consumer<OipException> late) {
        if (!call.hasDeadline()) {
            return null;
        }
        long left = call.deadlineNanos() - System.nanoTime();
        long nanos = left - left / 4;
        OipException failure = new UpstreamFailures(upstream, () -> false).timedOut(nanos, null);
        return call.loop().schedule(() -> late.accept(failure), nanos, TimeUnit.NANOSECONDS);
    }

    static Subscription sendTo(Target fallback, Call call, UpstreamRequest request, Reply reply) {
        call.context().sentTo(fallback.arm(), fallback.upstream().name(), fallback.model());
        return fallback.service().send(call, request, reply);
    }

    /** A request that the fallback gets if its target fails; replies come from the target. On the call's event loop. */
    static final class FallbackCall extends ForwardingReply implements Subscription {
        private final Call call;
        private final Target fallback;
        /** The request to the fallback; null once it was sent, or is not needed any more. */
        private @Nullable UpstreamRequest second;

        private Subscription inFlight = Subscription.NONE;
        private @Nullable Future<?> share;
        /** Whether the target is not heard any more: what it was asked may end after it was cancelled. */
        private boolean moved;

        private boolean ended;

        /** @param second taken */
        FallbackCall(Call call, Target fallback, UpstreamRequest second, Reply client) {
            super(client);
            this.call = call;
            this.fallback = fallback;
            this.second = second;
            holdHeaders();
        }

        /** @param request taken */
        Subscription start(Upstream target, UpstreamRequest request) {
            share = RouteFallback.share(call, target.name(), this::late);
            try {
                Subscription started = target.send(call, request, this);
                if (!moved) {
                    inFlight = started.cancelIf(ended);
                }
            } catch (RuntimeException | OutOfMemoryError e) {
                fail(CallLog.failureOf(e, call.context()));
            }
            return this;
        }

        private void late(OipException failure) {
            if (second != null) {
                inFlight.cancel();
                fail(failure);
            }
        }

        @Override
        public void message(ReplyMessage message) {
            if (moved) {
                message.release();
            } else {
                commit();
                super.message(message);
            }
        }

        @Override
        public void complete() {
            if (!moved) {
                end();
                super.complete();
            }
        }

        @Override
        public void fail(OipException failure) {
            if (moved) {
                return;
            }
            UpstreamRequest next = second;
            if (ended || next == null || !takesOver(call, failure)) {
                end();
                super.fail(failure);
                return;
            }
            second = null;
            moved = true;
            stopShare();
            redirected(failure, fallback.model());
            begin(() -> moved(next));
        }

        private void begin(Supplier<Subscription> start) {
            inFlight = Subscription.NONE;
            try {
                Subscription started = start.get();
                // The metadata may have been received already, and the request sent.
                inFlight = inFlight == Subscription.NONE ? started.cancelIf(ended) : inFlight;
            } catch (RuntimeException | OutOfMemoryError e) {
                end();
                super.fail(CallLog.failureOf(e, call.context()));
            }
        }

        /** @param next taken */
        private Subscription moved(UpstreamRequest next) {
            if (!(next instanceof InferenceRequest inference)
                    || !inference.source().needsMetadata()) {
                return sendTo(fallback, call, next, delegate());
            }
            second = next;
            Runnable described = () -> {
                if (second == next) {
                    second = null;
                    begin(() -> sendTo(fallback, call, next, delegate()));
                }
            };
            return sendTo(
                    fallback,
                    call,
                    new UpstreamRequest.ModelMetadataRequest(fallback.model()),
                    new CallbackReply(inference.source(), described, failure -> {
                        end();
                        super.fail(failure);
                    }));
        }

        /** The target has responded: the request stays with it. */
        private void commit() {
            stopShare();
            if (!moved) {
                passHeaders();
            }
            if (second != null) {
                second.release();
                second = null;
            }
        }

        private void stopShare() {
            if (share != null) {
                share.cancel(false);
                share = null;
            }
        }

        private void end() {
            ended = true;
            commit();
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
     * A stream whose requests the fallback gets if the target fails before its first response. Until then they are kept, as
     * long as they take no more than 1 MiB; the first one always is. Used on the event loop of the call.
     */
    static final class FallbackStream implements UpstreamStream {
        private static final long MAX_KEPT = 1 << 20;

        private final Route route;
        private final Call call;
        private final Reply client;
        private final Answers answers;
        private final List<KeptRequest> kept = new ArrayList<>(1);
        private UpstreamStream stream = UpstreamStream.ENDED;
        private @Nullable Target fallback;
        private @Nullable Future<?> share;
        /** The failure before the first request. */
        private @Nullable OipException early;

        private long keptBytes;
        /** Whether the requests stay where they were sent. */
        private boolean settled;

        private boolean ended;

        /** @param second the request to the fallback */
        private record KeptRequest(Call call, InferenceRequest second, boolean emptyFinal, long since) {}

        FallbackStream(Route route, Call call, Reply client) {
            this.route = route;
            this.call = call;
            this.client = client;
            this.answers = new Answers();
        }

        FallbackStream open(Upstream target, ModelRef model) {
            UpstreamStream opened = target.inferStream(call, model, answers);
            if (!ended && early == null) {
                stream = opened;
            }
            return this;
        }

        @Override
        public void send(Call request, InferenceRequest message, boolean emptyFinal) {
            if (!settled && !keep(request, message, emptyFinal)) {
                settle();
            }
            OipException failed = early;
            early = null;
            if (failed != null) {
                message.release();
                answers.fail(failed);
                return;
            }
            int before = kept.size();
            try {
                stream.send(request, message, emptyFinal);
            } catch (RuntimeException | OutOfMemoryError e) {
                if (kept.size() == before && before > 0) {
                    kept.removeLast().second().release();
                }
                throw e;
            }
        }

        /** Keeps a request for the fallback; false if it is not needed or there is no room. */
        private boolean keep(Call request, InferenceRequest message, boolean emptyFinal) {
            fallback = RouteFallback.of(route, request);
            long bytes = message.encode().bytes();
            InferenceRequest second = fallback == null || (keptBytes > 0 && keptBytes + bytes > MAX_KEPT)
                    ? null
                    : message.to(fallback.upstream(), fallback.model());
            if (second == null) {
                return false;
            }
            keptBytes += bytes;
            kept.add(new KeptRequest(request, second, emptyFinal, System.nanoTime()));
            if (share == null) {
                share = RouteFallback.share(request, message.server().name(), this::failed);
            }
            return true;
        }

        private void failed(OipException failure) {
            if (!settled) {
                stream.cancel();
                answers.fail(failure);
            }
        }

        /** The requests stay where they are. */
        private void settle() {
            settled = true;
            answers.passHeaders();
            keptBytes = 0;
            if (share != null) {
                share.cancel(false);
            }
            kept.forEach(each -> each.second().release());
            kept.clear();
        }

        private void move(Target to, OipException failure) {
            List<KeptRequest> moved = List.copyOf(kept);
            kept.clear();
            answers.holdHeaders();
            settle();
            UpstreamStream failed = stream;
            stream = UpstreamStream.ENDED;
            failed.cancel();
            moved.forEach(each -> failed.ended(System.nanoTime() - each.since(), failure));
            client.redirected(failure, to.model());
            try {
                UpstreamStream opened = to.service().inferStream(call, to.model(), answers);
                stream = ended ? stream : opened;
            } catch (RuntimeException | OutOfMemoryError e) {
                answers.fail(CallLog.failureOf(e, call.context()));
            }
            for (KeptRequest each : moved) {
                if (ended) {
                    each.second().release();
                } else {
                    resend(to, each);
                }
            }
            stream.end();
        }

        private void resend(Target to, KeptRequest request) {
            request.call().context().sentTo(to.arm(), to.upstream().name(), to.model());
            try {
                stream.send(request.call(), request.second(), request.emptyFinal());
            } catch (RuntimeException | OutOfMemoryError e) {
                OipException failure = CallLog.failureOf(e, request.call().context());
                client.message(
                        new ReplyMessage.StreamError(failure, request.second().id()));
            }
        }

        @Override
        public void ended(long nanos, @Nullable OipException failure) {
            stream.ended(nanos, failure);
        }

        @Override
        public void end() {
            OipException failed = early;
            early = null;
            if (failed != null) {
                settle();
                answers.fail(failed);
            } else {
                stream.end();
            }
        }

        @Override
        public long keptBytes() {
            return stream.keptBytes() + keptBytes;
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
            ended = true;
            settle();
            stream.cancel();
        }

        /** Receives the responses of the target, or of the fallback. */
        private final class Answers extends ForwardingReply {
            Answers() {
                super(client);
                holdHeaders();
            }

            @Override
            public void message(ReplyMessage message) {
                if (!settled
                        && !kept.isEmpty()
                        && message instanceof ReplyMessage.StreamError error
                        && takesOver(call, error.failure())) {
                    move(Objects.requireNonNull(fallback), error.failure());
                } else {
                    settle();
                    super.message(message);
                }
            }

            @Override
            public void complete() {
                ended = true;
                settle();
                super.complete();
            }

            @Override
            public void fail(OipException failure) {
                if (ended) {
                    return;
                }
                if (!settled && fallback == null) {
                    early = failure;
                } else if (!settled && !kept.isEmpty() && takesOver(call, failure)) {
                    move(Objects.requireNonNull(fallback), failure);
                } else {
                    ended = true;
                    settle();
                    super.fail(failure);
                }
            }
        }
    }
}
