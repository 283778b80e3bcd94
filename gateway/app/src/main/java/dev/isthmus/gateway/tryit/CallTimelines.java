package dev.isthmus.gateway.tryit;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.diagnosis.EndedCall;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/** Reports the timelines of the calls that somebody waits for, and sees no others. Thread-safe. */
public final class CallTimelines implements Layer {
    private final Map<String, CompletableFuture<Map<String, Object>>> awaited = new ConcurrentHashMap<>();

    /** The timeline of the next call with this request id, when it has ended: as in {@link EndedCall}. */
    CompletableFuture<Map<String, Object>> await(String requestId) {
        return awaited.computeIfAbsent(requestId, id -> new CompletableFuture<>());
    }

    /** Nobody waits for it any more. */
    void forget(String requestId) {
        awaited.remove(requestId);
    }

    @Override
    public String name() {
        return "timelines";
    }

    @Override
    public void ended(Exchange exchange) {
        CallContext call = exchange.context();
        if (awaited.isEmpty()) {
            return;
        }
        CompletableFuture<Map<String, Object>> waiting = awaited.remove(call.requestId());
        if (waiting != null) {
            waiting.complete(EndedCall.of(0, Instant.now(), call).document());
        }
    }
}
