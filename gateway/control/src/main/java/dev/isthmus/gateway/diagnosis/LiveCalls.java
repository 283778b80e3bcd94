package dev.isthmus.gateway.diagnosis;

import dev.isthmus.gateway.admin.AdminQuery;
import dev.isthmus.gateway.admin.AdminRequest;
import dev.isthmus.gateway.admin.AdminResponse;
import dev.isthmus.gateway.admin.AdminRoutes;
import dev.isthmus.gateway.admin.RouteAccess;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.diagnosis.LiveCalls.CallView.CallFilter;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.FailureCause;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import io.netty.channel.EventLoop;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.LongFunction;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The calls that have just ended, while somebody looks at them: each page has a view of its own, which ends when it is
 * not read for ten seconds. Whoever sends a call may wait for its timeline. Thread-safe.
 */
public final class LiveCalls {
    static final int MAX_VIEWS = 8;
    static final long LEASE_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final int MAX_MILLIS = 3_600_000;
    private static final Pattern NAME = Pattern.compile("[a-z0-9-]{8,40}");

    private final LongSupplier nanoTime;
    private final InstantSource clock;
    private final AtomicLong numbers = new AtomicLong();
    /** By name. Views are added, renewed and removed under the lock of this. */
    private final Map<String, CallView> views = new ConcurrentHashMap<>();
    /** By request id. */
    private final Map<String, CompletableFuture<Map<String, Object>>> awaited = new ConcurrentHashMap<>();

    /** @param nanoTime on the scale of {@link System#nanoTime()} */
    public LiveCalls(LongSupplier nanoTime, InstantSource clock) {
        this.nanoTime = nanoTime;
        this.clock = clock;
    }

    /** Adds the route that the views are read from. */
    public void addTo(AdminRoutes routes) {
        routes.route("GET", "/debug/calls", RouteAccess.DIAGNOSIS, this::page);
    }

    /** The timeline of the next call with this request id, when it has ended: as in {@link EndedCall}. */
    public CompletableFuture<Map<String, Object>> await(String requestId) {
        return awaited.computeIfAbsent(requestId, id -> new CompletableFuture<>());
    }

    /** Nobody waits for it any more. */
    public void forget(String requestId) {
        awaited.remove(requestId);
    }

    /** Whether somebody looks at calls, or waits for one. */
    public boolean watched() {
        return !views.isEmpty() || !awaited.isEmpty();
    }

    /** A call, or a message of a stream, has ended. */
    public void ended(CallContext call) {
        CompletableFuture<Map<String, Object>> waiting = awaited.remove(call.requestId());
        if (waiting != null) {
            waiting.complete(EndedCall.of(0, clock.instant(), call).document());
        }
        if (views.isEmpty() || call.protocol() == null) {
            return;
        }
        long now = nanoTime.getAsLong();
        for (CallView view : views.values()) {
            if (view.expired(now)) {
                removeExpired(now);
            } else {
                view.ended(call, now, clock);
            }
        }
    }

    private AdminResponse page(AdminRequest request) {
        AdminQuery query = AdminQuery.of(
                request, "view", "after", "model", "server", "caller", "code", "outcome", "slower_than_ms");
        String name = query.text("view", "");
        if (!NAME.matcher(name).matches()) {
            throw AdminQuery.invalid("view", "8 to 40 lower-case letters, digits and hyphens", name);
        }
        String code = query.text("code", "");
        if (!CallFilter.isCode(code)) {
            throw AdminQuery.invalid("code", "5xx, a status, code or cause, as in errors.md,", code);
        }
        CallFilter filter = new CallFilter(
                query.text("model", ""),
                query.text("server", ""),
                query.text("caller", ""),
                code,
                query.oneOf("outcome", "all", "all", "failed").equals("failed"),
                TimeUnit.MILLISECONDS.toNanos(query.integer("slower_than_ms", 0, MAX_MILLIS, 0)));
        return AdminResponse.json(200, view(name, filter).document(query.after()));
    }

    /**
     * The view of this name and filter, which is opened if there is none.
     *
     * @throws OipException OVERLOADED if there are too many
     */
    synchronized CallView view(String name, CallFilter filter) {
        long now = nanoTime.getAsLong();
        removeExpired(now);
        CallView known = views.get(name);
        if (known != null && known.filter().equals(filter)) {
            known.renew(now);
            return known;
        }
        if (known == null && views.size() >= MAX_VIEWS) {
            throw new OipException(
                    ErrorCode.OVERLOADED, "at most " + MAX_VIEWS + " pages can show calls at a time; close one");
        }
        CallView next = new CallView(filter, numbers, now);
        views.put(name, next);
        return next;
    }

    /** Under the lock, as one that is renewed meanwhile stays. */
    private synchronized void removeExpired(long now) {
        views.values().removeIf(view -> view.expired(now));
    }

    /** All that pages show. */
    Stream<EndedCall> calls() {
        return views.values().stream().flatMap(view -> view.after(0).stream());
    }

    /** The last calls that one page shows: a ring for each event loop, so that no loop waits for another. Thread-safe. */
    static final class CallView {
        static final int MAX_CALLS = 500;

        private final CallFilter filter;
        private final Map<EventLoop, CallRing> rings = new ConcurrentHashMap<>();
        private final AtomicLong numbers;
        private volatile long untilNanos;

        /** @param numbers of the calls of all views */
        CallView(CallFilter filter, AtomicLong numbers, long now) {
            this.filter = filter;
            this.numbers = numbers;
            renew(now);
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
                ring.add(numbers, number -> EndedCall.of(number, clock.instant(), call));
            }
        }

        private List<EndedCall> after(long number) {
            List<EndedCall> calls = new ArrayList<>();
            rings.values().forEach(ring -> ring.copyTo(calls, number));
            return calls;
        }

        /**
         * The calls after one of these numbers, the newest first, as far as none with a smaller number is still to come.
         *
         * @param after 0 for all that are left
         */
        Map<String, Object> document(long after) {
            long last = numbers.get();
            long complete = rings.values().stream().mapToLong(ring -> ring.next).reduce(last + 1, Math::min) - 1;
            List<EndedCall> calls = after(after);
            calls.removeIf(call -> call.number() > complete);
            calls.sort(Comparator.comparingLong(EndedCall::number).reversed());
            Map<String, Object> document = new LinkedHashMap<>();
            document.put("last_number", last);
            document.put("matching_calls", sum(ring -> ring.seen));
            document.put("kept_calls", sum(ring -> ring.kept));
            document.put(
                    "calls",
                    calls.stream().limit(MAX_CALLS).map(EndedCall::document).toList());
            return document;
        }

        private long sum(ToLongFunction<CallRing> count) {
            return rings.values().stream().mapToLong(count).sum();
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
            private int place;
            private long windowNanos;
            private int failed;
            private int others;
            /** All calls, those that are not kept included. */
            private volatile long seen;

            private volatile long kept;

            /** What is being added has at least this number. Written before the number is taken, and read after the last one. */
            private volatile long next = Long.MAX_VALUE;

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

            /** Adds a call with the next of the numbers. */
            @SuppressWarnings("NonAtomicVolatileUpdate") // only the loop writes
            void add(AtomicLong numbers, LongFunction<EndedCall> call) {
                kept++;
                next = numbers.get() + 1;
                try {
                    last.set(place, call.apply(numbers.incrementAndGet()));
                    place = (place + 1) % SIZE;
                } finally {
                    next = Long.MAX_VALUE;
                }
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
         * @param caller part of the caller's name; empty for all
         * @param code a status or its class, a code, or a cause; empty for all
         * @param failed only calls that failed
         * @param slowerNanos only calls that took longer
         */
        record CallFilter(String model, String server, String caller, String code, boolean failed, long slowerNanos) {

            CallFilter {
                model = model.toLowerCase(Locale.ROOT);
                server = server.toLowerCase(Locale.ROOT);
                caller = caller.toLowerCase(Locale.ROOT);
            }

            /** Whether a call may end so, or it is empty. */
            static boolean isCode(String code) {
                return code.matches("(?i)|ok|[1-5]xx|[1-5][0-9]{2}")
                        || Stream.concat(Arrays.stream(ErrorCode.values()), Arrays.stream(FailureCause.values()))
                                .anyMatch(each -> each.name().equalsIgnoreCase(code));
            }

            boolean matches(CallContext call) {
                return (!failed || call.code() != null)
                        && call.totalNanos() >= slowerNanos
                        && (model.isEmpty() || matchesModel(call))
                        && (code.isEmpty() || matchesCode(call))
                        && has(call.principal().name(), caller)
                        && (server.isEmpty() || has(call.upstream(), server) || has(call.server(), server));
            }

            private boolean matchesCode(CallContext call) {
                ErrorCode ended = call.code();
                String status = Integer.toString(ended == null ? 200 : ended.httpStatus());
                String name = ended == null ? "OK" : ended.name();
                return Stream.of(status, status.charAt(0) + "xx", name, String.valueOf(call.cause()))
                        .anyMatch(code::equalsIgnoreCase);
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
}
