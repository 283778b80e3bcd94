package dev.isthmus.gateway.fallback;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.routing.Route;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest.InferenceRequest;
import dev.isthmus.gateway.upstream.UpstreamStream;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * A stream whose requests the fallback gets if the target fails before its first response. Until then they are kept, as
 * long as they take no more than 1 MiB; the first one always is. Used on the event loop of the call.
 */
final class FallbackStream implements UpstreamStream {
    private static final long MAX_KEPT = 1 << 20;

    private final Route route;
    private final Call call;
    private final Reply client;
    private final Reply answers;
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
        } catch (RuntimeException e) {
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
            UpstreamStream late = stream;
            late.cancel();
            answers.fail(failure);
        }
    }

    /** The requests stay where they are. */
    private void settle() {
        settled = true;
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
        settle();
        UpstreamStream failed = stream;
        stream = UpstreamStream.ENDED;
        failed.cancel();
        moved.forEach(each -> failed.ended(System.nanoTime() - each.since(), failure));
        client.redirected(failure, to.model());
        UpstreamStream opened = to.service().inferStream(call, to.model(), answers);
        if (!ended) {
            stream = opened;
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
        }

        @Override
        public void message(ReplyMessage message) {
            if (!settled
                    && !kept.isEmpty()
                    && message instanceof ReplyMessage.StreamError error
                    && RouteFallback.takesOver(call, error.failure())) {
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
            } else if (!settled && !kept.isEmpty() && RouteFallback.takesOver(call, failure)) {
                move(Objects.requireNonNull(fallback), failure);
            } else {
                ended = true;
                settle();
                super.fail(failure);
            }
        }
    }
}
