package dev.isthmus.gateway.diagnosis;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.oip.ModelRef;
import io.netty.channel.EventLoop;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
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

    /**
     * The last calls of one event loop. If there are many, only the first of each tenth of a second are kept, and failed
     * ones apart from the others. Written on the loop, read on any thread.
     */
    static final class CallRing {
        static final int SIZE = 256;
        /** Calls of each kind that are kept in a tenth of a second. */
        static final int KEPT = 10;

        private static final long WINDOW_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

        private final AtomicReferenceArray<@Nullable EndedCall> last = new AtomicReferenceArray<>(SIZE);
        private int next;
        private long windowNanos;
        private int failed;
        private int others;
        private volatile long seen;
        private volatile long kept;

        /** Counts a call; whether it is to be added. */
        @SuppressWarnings("NonAtomicVolatileUpdate") // only the loop writes
        boolean admits(boolean failure, long now) {
            seen++;
            if (now - windowNanos >= WINDOW_NANOS || seen == 1) {
                windowNanos = now;
                failed = 0;
                others = 0;
            }
            return failure ? failed++ < KEPT : others++ < KEPT;
        }

        @SuppressWarnings("NonAtomicVolatileUpdate") // only the loop writes
        void add(EndedCall call) {
            kept++;
            last.set(next, call);
            next = (next + 1) % SIZE;
        }

        /** All calls, those that are not kept included. */
        long seen() {
            return seen;
        }

        /** The calls that were added. */
        long kept() {
            return kept;
        }

        /** Adds the calls after this number. */
        void copyTo(List<EndedCall> calls, long after) {
            for (int i = 0; i < SIZE; i++) {
                EndedCall call = last.get(i);
                if (call != null && call.number() > after) {
                    calls.add(call);
                }
            }
        }
    }

    /**
     * Which calls a view has.
     *
     * @param model part of a name of the model: as the client, the configuration or the server has it; empty for all
     * @param server part of the upstream's name or the server's address; empty for all
     * @param failed only calls that failed
     * @param slowerNanos only calls that took longer
     */
    record CallFilter(String model, String server, boolean failed, long slowerNanos) {

        CallFilter {
            model = model.toLowerCase(Locale.ROOT);
            server = server.toLowerCase(Locale.ROOT);
        }

        boolean matches(CallContext call) {
            return (!failed || call.code() != null)
                    && call.totalNanos() >= slowerNanos
                    && (model.isEmpty() || matchesModel(call))
                    && (server.isEmpty() || has(call.upstream(), server) || has(call.server(), server));
        }

        private boolean matchesModel(CallContext call) {
            Operation operation = call.operation();
            ModelRef requested = operation == null ? null : operation.requestedModel();
            ModelRef served = call.served();
            return has(call.route(), model)
                    || (requested != null && has(requested.name(), model))
                    || (served != null && has(served.name(), model));
        }

        private static boolean has(String text, String part) {
            return text.toLowerCase(Locale.ROOT).contains(part);
        }
    }
}
