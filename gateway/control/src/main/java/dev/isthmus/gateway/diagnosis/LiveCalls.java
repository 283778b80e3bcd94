package dev.isthmus.gateway.diagnosis;

import dev.isthmus.gateway.admin.AdminQuery;
import dev.isthmus.gateway.admin.AdminRequest;
import dev.isthmus.gateway.admin.AdminResponse;
import dev.isthmus.gateway.admin.AdminRoutes;
import dev.isthmus.gateway.admin.RouteAccess;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layer;
import dev.isthmus.gateway.diagnosis.CallView.CallFilter;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The calls that have just ended, while somebody looks at them: each page has a view of its own, which ends when it is
 * not read for ten seconds. Without a view a call costs the reading of one field. Thread-safe.
 */
public final class LiveCalls implements Layer {
    static final int MAX_VIEWS = 8;
    static final long LEASE_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final int MAX_MILLIS = 3_600_000;
    private static final Pattern NAME = Pattern.compile("[a-z0-9-]{8,40}");
    private static final CallView[] NONE = {};

    private final LongSupplier nanoTime;
    private final InstantSource clock;
    private final AtomicLong numbers = new AtomicLong();
    private final AtomicReference<CallView[]> views = new AtomicReference<>(NONE);

    /** With the system's clocks. */
    public LiveCalls() {
        this(System::nanoTime, InstantSource.system());
    }

    /** @param nanoTime on the scale of {@link System#nanoTime()} */
    LiveCalls(LongSupplier nanoTime, InstantSource clock) {
        this.nanoTime = nanoTime;
        this.clock = clock;
    }

    /** Adds the route that the views are read from. */
    public void addTo(AdminRoutes routes) {
        routes.route("GET", "/debug/calls", RouteAccess.DIAGNOSIS, this::page);
    }

    @Override
    public String name() {
        return "live_calls";
    }

    @Override
    public void ended(Exchange exchange) {
        CallContext call = exchange.context();
        CallView[] open = views.get();
        if (open.length == 0 || call.protocol() == null) {
            return;
        }
        long now = nanoTime.getAsLong();
        boolean expired = false;
        for (CallView view : open) {
            if (view.expired(now)) {
                expired = true;
            } else {
                view.ended(call, now, clock);
            }
        }
        if (expired) {
            keepOpen(now);
        }
    }

    /** A message is a request of its own. */
    @Override
    public void messageEnded(Exchange exchange) {
        ended(exchange);
    }

    private CallView[] keepOpen(long now) {
        return views.updateAndGet(
                all -> Arrays.stream(all).filter(view -> !view.expired(now)).toArray(CallView[]::new));
    }

    private AdminResponse page(AdminRequest request) {
        AdminQuery query = AdminQuery.of(request, "view", "after", "model", "server", "outcome", "slower_than_ms");
        String name = query.text("view", "");
        if (!NAME.matcher(name).matches()) {
            throw AdminQuery.invalid("view", "8 to 40 lower-case letters, digits and hyphens", name);
        }
        CallFilter filter = new CallFilter(
                query.text("model", ""),
                query.text("server", ""),
                query.oneOf("outcome", "all", "all", "failed").equals("failed"),
                TimeUnit.MILLISECONDS.toNanos(query.integer("slower_than_ms", 0, MAX_MILLIS, 0)));
        return AdminResponse.json(200, view(name, filter).document(query.integer("after", 0, Integer.MAX_VALUE, 0)));
    }

    /**
     * The view of this name and filter, which is opened if there is none.
     *
     * @throws OipException OVERLOADED if there are too many
     */
    CallView view(String name, CallFilter filter) {
        long now = nanoTime.getAsLong();
        CallView[] open = keepOpen(now);
        CallView known = known(open, name);
        if (known != null && known.filter().equals(filter)) {
            known.renew(now);
            return known;
        }
        CallView next = new CallView(name, filter, numbers, now);
        views.updateAndGet(all -> with(all, next));
        return next;
    }

    private static @Nullable CallView known(CallView[] open, String name) {
        return Arrays.stream(open)
                .filter(view -> view.name().equals(name))
                .findFirst()
                .orElse(null);
    }

    private static CallView[] with(CallView[] all, CallView next) {
        CallView[] others = Arrays.stream(all)
                .filter(view -> !view.name().equals(next.name()))
                .toArray(CallView[]::new);
        if (others.length == MAX_VIEWS) {
            throw new OipException(
                    ErrorCode.OVERLOADED, "at most " + MAX_VIEWS + " pages can show calls at a time; close one");
        }
        CallView[] more = Arrays.copyOf(others, others.length + 1);
        more[others.length] = next;
        return more;
    }

    /** The call with this request id, if a page shows it; null otherwise. */
    @Nullable
    EndedCall find(String requestId) {
        return Arrays.stream(views.get())
                .map(view -> view.find(requestId))
                .filter(Objects::nonNull)
                .findFirst()
                .orElse(null);
    }

    /** The number of views, those that have expired and were not removed yet included. */
    int views() {
        return views.get().length;
    }
}
