package dev.isthmus.gateway.cache;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.RemovalCause;
import com.github.benmanes.caffeine.cache.Scheduler;
import dev.isthmus.gateway.cache.ResponseCaches.CacheMeters;
import dev.isthmus.gateway.cache.SharedCall.CollapsedCall;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.SharedHeaders;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.settings.CacheConfig;
import dev.isthmus.gateway.upstream.RouteService;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamRequest.InferenceRequest;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.InferMessage;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The responses of one route that equal requests get again, and the calls that equal requests share. It never refuses a
 * request: what it cannot look up is sent, and counted. Thread-safe.
 */
public final class ResponseCache implements RouteService {
    private static final Logger LOG = LoggerFactory.getLogger(ResponseCache.class);
    /** Responses that give way to one. */
    private static final int EVICTED_AT_ONCE = 64;

    private final String route;
    private final CacheConfig config;
    private final ResponseCaches all;
    private final CacheMeters meters;
    private final LongSupplier nanoTime;
    private final Cache<CacheKey, StoredResponse> responses;

    private final ConcurrentMap<SharedKey, SharedCall> underWay = new ConcurrentHashMap<>();

    /** Raised by each purge: what was sent before it is not kept. */
    private final AtomicLong epoch = new AtomicLong();

    private final AtomicInteger waiting = new AtomicInteger();
    /** The memory of the responses. */
    private final AtomicLong bytes = new AtomicLong();

    private volatile boolean closed;

    /** What requests that share a call have in common. In a queue, the call has the place of its first request. */
    private record SharedKey(CacheKey key, long priority) {
        static SharedKey of(CacheLookup request) {
            return new SharedKey(request.key(), request.call().context().priority());
        }
    }

    ResponseCache(String route, CacheConfig config, ResponseCaches all, CacheMeters meters, LongSupplier nanoTime) {
        this.route = route;
        this.config = config;
        this.all = all;
        this.meters = meters;
        this.nanoTime = nanoTime;
        this.responses = Caffeine.newBuilder()
                .maximumWeight(config.maxBytes())
                .weigher((CacheKey key, StoredResponse response) -> response.bytes())
                .expireAfterWrite(config.ttl())
                .scheduler(Scheduler.systemScheduler())
                .ticker(nanoTime::getAsLong)
                .executor(Runnable::run)
                .removalListener(this::removed)
                .build();
    }

    private void removed(@Nullable CacheKey key, @Nullable StoredResponse response, RemovalCause cause) {
        if (response != null) {
            bytes.addAndGet(-response.bytes());
            all.memory().release(response.bytes());
        }
        meters.removed(cause);
    }

    /** Requests that are looked up do not pass in parts. */
    @Override
    public long passesFrom(long inner) {
        return Math.max(inner, config.maxRequest());
    }

    @Override
    public boolean decodes() {
        return true;
    }

    /** Messages of a stream are neither looked up nor counted. */
    @Override
    public Subscription send(Upstream upstream, Call call, UpstreamRequest request, Reply reply) {
        return switch (request) {
            case UpstreamRequest.InferenceInParts _ -> bypass(CacheOutcome.LARGE, call, request, upstream, reply);
            case InferenceRequest inference
            when inference.events() -> bypass(CacheOutcome.STREAM, call, request, upstream, reply);
            case InferenceRequest _
            when call.sequence() -> bypass(CacheOutcome.SEQUENCE, call, request, upstream, reply);
            case InferenceRequest inference -> send(call, inference, upstream, reply);
            default -> upstream.send(call, request, reply);
        };
    }

    private Subscription bypass(
            CacheOutcome reason, Call call, UpstreamRequest request, Upstream upstream, Reply reply) {
        count(reason, call.context());
        reply.headers(CacheStatus.bypassed(reason));
        return upstream.send(call, request, reply);
    }

    /** The key of its route. */
    public String route() {
        return route;
    }

    CacheConfig config() {
        return config;
    }

    CacheMeters meters() {
        return meters;
    }

    /** What became of a request, for metrics and its span. */
    void count(CacheOutcome outcome, CallContext call) {
        meters.count(outcome);
        call.span().cached(outcome.label());
    }

    /** Replies with a response that is kept or under way, or sends the request (taken). */
    private Subscription send(Call call, InferenceRequest request, Upstream upstream, Reply reply) {
        InferRequest decoded = request.decoded();
        CacheOutcome obstacle = obstacle(decoded);
        CacheKey key = obstacle == null ? key(call, decoded, upstream) : null;
        if (key == null) {
            return bypass(obstacle == null ? CacheOutcome.FAULT : obstacle, call, request, upstream, reply);
        }
        CacheLookup lookUp = new CacheLookup(
                call,
                key,
                CacheDirectives.of(call.client().value("cache-control")),
                upstream,
                reply,
                decoded.id(),
                decoded.model().name());
        StoredResponse stored = kept(lookUp);
        if (stored != null) {
            request.release();
            return hit(lookUp, stored);
        }
        request.message();
        return send(lookUp, request);
    }

    private @Nullable StoredResponse kept(CacheLookup lookUp) {
        return lookUp.directives().refresh() ? null : responses.getIfPresent(lookUp.key());
    }

    private Subscription hit(CacheLookup lookUp, StoredResponse stored) {
        Call call = lookUp.call();
        InferMessage message = stored.message(call.allocator(), lookUp.id());
        count(CacheOutcome.HIT, call.context());
        lookUp.reply().notSent();
        lookUp.reply().headers(CacheStatus.hit(stored.headers(), secondsLeft(stored)));
        lookUp.reply().only(new ReplyMessage.Inference(message));
        given(lookUp.key(), stored, call.context());
        return Subscription.NONE;
    }

    /** What prevents a look-up; null for nothing. */
    private @Nullable CacheOutcome obstacle(InferRequest request) {
        long bytes = 0;
        for (Tensor input : request.inputs()) {
            if (input.shared()) {
                return CacheOutcome.SHARED_MEMORY;
            }
            bytes += input.data().readableBytes();
        }
        if (request.outputs().stream().anyMatch(RequestedOutput::shared)) {
            return CacheOutcome.SHARED_MEMORY;
        }
        return bytes > config.maxRequest() ? CacheOutcome.LARGE : null;
    }

    private @Nullable CacheKey key(Call call, InferRequest request, Upstream upstream) {
        try {
            return all.hasher().key(config, call, upstream.name(), request);
        } catch (RuntimeException e) {
            LOG.debug("model '{}': a request has no key and is sent without the cache", route, e);
            return null;
        }
    }

    private long secondsLeft(StoredResponse stored) {
        long age = nanoTime.getAsLong() - stored.storedNanos();
        return Math.max(0, TimeUnit.NANOSECONDS.toSeconds(config.ttl().toNanos() - age));
    }

    /**
     * Sends a request, or lets it wait for the response to an equal one.
     *
     * @param sent taken
     */
    Subscription send(CacheLookup missed, UpstreamRequest sent) {
        Call call = missed.call();
        boolean shares = config.singleflight() && !missed.directives().refresh();
        SharedKey key = SharedKey.of(missed);
        SharedCall own = new SharedCall(this, missed, epoch.get(), shares);
        while (shares) {
            SharedCall first = underWay.putIfAbsent(key, own);
            if (first == null) {
                // The call that it would have joined may have ended since the look-up.
                StoredResponse stored = kept(missed);
                if (stored == null) {
                    break;
                }
                own.answered(stored);
                sent.release();
                return hit(missed, stored);
            }
            CollapsedCall waits = new CollapsedCall(this, missed, sent, first);
            if (first.join(waits)) {
                waits.start();
                return waits;
            }
            underWay.remove(key, first);
        }
        count(missed.directives().refresh() ? CacheOutcome.REFRESHED : CacheOutcome.MISS, call.context());
        return own.send(call, sent);
    }

    /** The number of requests that wait for the response to an equal one has changed. */
    void waits(int more) {
        waiting.addAndGet(more);
    }

    int waiting() {
        return waiting.get();
    }

    /** No further request joins this call. */
    void ended(SharedCall call, CacheLookup first) {
        underWay.remove(SharedKey.of(first), call);
    }

    /** Whether a response of so many bytes may be kept, if the memory suffices. */
    boolean keeps(CacheDirectives directives, long bytes, Map<String, String> headers) {
        if (config.ttl().isZero() || closed) {
            return false;
        }
        UnstoredReason reason = bytes > config.maxResponse()
                ? UnstoredReason.LARGE
                : directives.noStore()
                        ? UnstoredReason.NO_STORE
                        : SharedHeaders.isOfOneClient(headers) ? UnstoredReason.PRIVATE : null;
        if (reason != null) {
            meters.unstored(reason);
        }
        return reason == null;
    }

    /** Keeps a response; false if there is no room, or the model was purged since its request was sent. */
    boolean store(CacheKey key, StoredResponse response, long sentIn) {
        if (epoch.get() != sentIn) {
            meters.unstored(UnstoredReason.PURGED);
            return false;
        }
        if (!all.take(response.bytes())) {
            meters.unstored(UnstoredReason.MEMORY);
            return false;
        }
        bytes.addAndGet(response.bytes());
        responses.put(key, response);
        if (epoch.get() != sentIn) {
            responses.invalidate(key);
        }
        // Others that are used more often may have been preferred.
        return responses.policy().getIfPresentQuietly(key) == response;
    }

    /** Removes a response that was kept. */
    void remove(CacheKey key, StoredResponse response) {
        responses.asMap().remove(key, response);
    }

    /** Removes the least used responses until so many bytes are free; false if there is nothing to remove. */
    boolean evict(long wanted) {
        long before = bytes.get();
        Set<CacheKey> coldest = responses
                .policy()
                .eviction()
                .map(eviction -> eviction.coldest(EVICTED_AT_ONCE).keySet())
                .orElse(Set.of());
        for (CacheKey each : coldest) {
            if (before - bytes.get() >= wanted) {
                break;
            }
            responses.invalidate(each);
            meters.removed(RemovalCause.SIZE);
        }
        return bytes.get() < before;
    }

    /** A client was given a response that is kept: one that turned out to be invalid is kept no longer. */
    void given(CacheKey key, StoredResponse response, CallContext call) {
        if (isInvalid(call)) {
            remove(key, response);
        }
    }

    /** Whether the response to a call was invalid. That is found out only when it is written for the call's client. */
    static boolean isInvalid(CallContext call) {
        return call.code() == ErrorCode.BAD_UPSTREAM_ANSWER;
    }

    /** When a response is received. */
    long now() {
        return nanoTime.getAsLong();
    }

    /** Removes everything; returns how many responses there were. */
    public long purge() {
        return purge(response -> true);
    }

    /**
     * Removes the responses of some models; returns how many there were.
     *
     * @param models as their servers call them; the key of this route stands for all of its models
     */
    long purge(Set<String> models) {
        return models.contains(route) ? purge() : purge(response -> models.contains(response.served()));
    }

    private long purge(Predicate<StoredResponse> which) {
        epoch.incrementAndGet();
        underWay.clear();
        List<CacheKey> keys = responses.asMap().entrySet().stream()
                .filter(each -> which.test(each.getValue()))
                .map(Map.Entry::getKey)
                .toList();
        responses.invalidateAll(keys);
        return keys.size();
    }

    /** The number of responses. */
    long entries() {
        return responses.estimatedSize();
    }

    /** The memory of the responses, in bytes. */
    long bytes() {
        return bytes.get();
    }

    /** Removes everything, and keeps nothing from now on. Calls that are shared end as usual. */
    @Override
    public void close() {
        closed = true;
        purge();
        all.closed(this);
    }

    /**
     * A request whose response may be kept.
     *
     * @param id of the request; empty if it has none
     */
    record CacheLookup(
            Call call,
            CacheKey key,
            CacheDirectives directives,
            Upstream upstream,
            Reply reply,
            String id,
            String served) {}

    /**
     * What a client asks of the cache with {@code Cache-Control} (RFC 9111, 5.2.1). Directives that are not here have no
     * effect.
     *
     * @param refresh {@code no-cache} or {@code max-age=0}: it wants a response of its own
     * @param noStore {@code no-store}: its response is not to be kept
     */
    record CacheDirectives(boolean refresh, boolean noStore) {
        private static final CacheDirectives NONE = new CacheDirectives(false, false);

        /** Those of a header; null if the client has sent none. */
        static CacheDirectives of(@Nullable String header) {
            if (header == null) {
                return NONE;
            }
            boolean refresh = false;
            boolean noStore = false;
            for (String each : header.toLowerCase(Locale.ROOT).split(",", -1)) {
                String directive = each.strip();
                refresh |= directive.equals("no-cache") || directive.equals("max-age=0");
                noStore |= directive.equals("no-store");
            }
            return new CacheDirectives(refresh, noStore);
        }
    }
}
