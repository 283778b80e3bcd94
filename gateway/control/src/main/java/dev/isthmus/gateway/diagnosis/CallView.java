package dev.isthmus.gateway.diagnosis;

import dev.isthmus.gateway.call.CallContext;
import io.netty.channel.EventLoop;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** The last calls that one page shows: a ring for each event loop, so that no loop waits for another. Thread-safe. */
final class CallView {
    static final int MAX_CALLS = 500;

    private final String name;
    private final CallFilter filter;
    private final Map<EventLoop, CallRing> rings = new ConcurrentHashMap<>();
    private final AtomicLong numbers;
    private volatile long untilNanos;

    /** @param numbers of the calls of all views */
    CallView(String name, CallFilter filter, AtomicLong numbers, long now) {
        this.name = name;
        this.filter = filter;
        this.numbers = numbers;
        renew(now);
    }

    String name() {
        return name;
    }

    CallFilter filter() {
        return filter;
    }

    void renew(long now) {
        untilNanos = now + LiveCalls.LEASE_NANOS;
    }

    boolean expired(long now) {
        return now - untilNanos >= 0;
    }

    /** On the call's loop. */
    void ended(CallContext call, long now, InstantSource clock) {
        if (!filter.matches(call)) {
            return;
        }
        EventLoop loop = call.loop();
        CallRing ring = rings.get(loop);
        if (ring == null) {
            ring = rings.computeIfAbsent(loop, each -> new CallRing());
        }
        if (ring.admits(call.code() != null, now)) {
            ring.add(EndedCall.of(numbers.incrementAndGet(), clock.instant(), call));
        }
    }

    /** The call with this request id; null if it is not kept. */
    @Nullable
    EndedCall find(String requestId) {
        List<EndedCall> calls = new ArrayList<>();
        rings.values().forEach(ring -> ring.copyTo(calls, 0));
        return calls.stream()
                .filter(each -> each.requestId().equals(requestId))
                .findFirst()
                .orElse(null);
    }

    /**
     * The calls after one of these numbers, the newest first.
     *
     * @param after 0 for all that are left
     */
    Map<String, Object> document(long after) {
        List<EndedCall> calls = new ArrayList<>();
        long seen = 0;
        long kept = 0;
        for (CallRing ring : rings.values()) {
            seen += ring.seen();
            kept += ring.kept();
            ring.copyTo(calls, after);
        }
        calls.sort(Comparator.comparingLong(EndedCall::number).reversed());
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("last_number", numbers.get());
        document.put("matching_calls", seen);
        document.put("kept_calls", kept);
        document.put(
                "calls",
                calls.stream().limit(MAX_CALLS).map(EndedCall::document).toList());
        return document;
    }
}
