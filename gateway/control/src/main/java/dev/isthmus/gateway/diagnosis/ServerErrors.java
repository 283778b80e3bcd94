package dev.isthmus.gateway.diagnosis;

import dev.isthmus.gateway.admin.AdminQuery;
import dev.isthmus.gateway.admin.AdminRequest;
import dev.isthmus.gateway.admin.AdminResponse;
import dev.isthmus.gateway.admin.AdminRoutes;
import dev.isthmus.gateway.admin.RouteAccess;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.oip.ErrorCode;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/**
 * The last errors of each server: calls that were sent to it, or to an upstream that had none to send them to, and
 * failed. Thread-safe.
 */
public final class ServerErrors {
    static final int ERRORS_OF_SERVER = 20;
    static final int MAX_SERVERS = 1000;

    private final InstantSource clock;
    private final Map<ServerName, LastErrors> servers = new ConcurrentHashMap<>();

    public ServerErrors(InstantSource clock) {
        this.clock = clock;
    }

    /** @param server empty if a call was sent to none */
    private record ServerName(String upstream, String server) {}

    private static Map<String, Object> document(EndedCall call) {
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("time", call.time().toString());
        document.put("code", call.code());
        document.put("text", call.reason());
        document.put("request_id", call.requestId());
        document.put("route", call.route());
        document.put("model", call.servedModel());
        document.put("attempts", call.attempts());
        return document;
    }

    /** The last errors of one server, the newest first. */
    private static final class LastErrors {
        private final Deque<EndedCall> last = new ArrayDeque<>();
        private long total;

        synchronized void add(EndedCall call) {
            total++;
            last.addFirst(call);
            if (last.size() > ERRORS_OF_SERVER) {
                last.removeLast();
            }
        }

        synchronized Stream<EndedCall> all() {
            return List.copyOf(last).stream();
        }

        synchronized Instant newest() {
            return last.isEmpty() ? Instant.MIN : last.getFirst().time();
        }

        synchronized Map<String, Object> document(ServerName name, int most) {
            Map<String, Object> document = new LinkedHashMap<>();
            document.put("upstream", name.upstream());
            document.put("server", name.server());
            document.put("errors", total);
            document.put(
                    "last",
                    last.stream().limit(most).map(ServerErrors::document).toList());
            return document;
        }
    }

    /** A call, or a message of a stream, has failed. */
    public void failed(CallContext call) {
        if (call.code() == ErrorCode.CANCELLED || call.upstream().isEmpty()) {
            return;
        }
        EndedCall failed = EndedCall.of(0, clock.instant(), call);
        ServerName name = new ServerName(call.upstream(), call.server());
        LastErrors errors = servers.get(name);
        if (errors == null) {
            forgetOldest();
            errors = servers.computeIfAbsent(name, each -> new LastErrors());
        }
        errors.add(failed);
    }

    private void forgetOldest() {
        if (servers.size() >= MAX_SERVERS) {
            servers.entrySet().stream()
                    .min(Comparator.comparing(each -> each.getValue().newest()))
                    .ifPresent(oldest -> servers.remove(oldest.getKey()));
        }
    }

    /**
     * The errors of all servers, those with the newest error first.
     *
     * @param upstream of which upstream; empty for all
     * @param most how many of each server
     */
    public List<Map<String, Object>> document(String upstream, int most) {
        List<Map.Entry<ServerName, LastErrors>> all = new ArrayList<>(servers.entrySet());
        all.removeIf(each -> !upstream.isEmpty() && !each.getKey().upstream().equals(upstream));
        Map<ServerName, Instant> times = new LinkedHashMap<>();
        all.forEach(each -> times.put(each.getKey(), each.getValue().newest()));
        all.sort(Comparator.comparing((Map.Entry<ServerName, LastErrors> each) -> times.get(each.getKey()))
                .reversed());
        return all.stream()
                .map(each -> each.getValue().document(each.getKey(), most))
                .toList();
    }

    /** Finds an ended call by its request id, among those that pages show and the last failed ones of each server. */
    public record CallLookup(LiveCalls live, ServerErrors errors) {

        public void addTo(AdminRoutes routes) {
            routes.route("GET", "/debug/calls/*", RouteAccess.DIAGNOSIS, this::show);
        }

        private AdminResponse show(AdminRequest request) {
            AdminQuery.of(request);
            String id = request.tail();
            return Stream.concat(errors.servers.values().stream().flatMap(LastErrors::all), live.calls())
                    .filter(each -> each.requestId().equals(id))
                    .findFirst()
                    .map(call -> AdminResponse.json(200, call.document()))
                    .orElseGet(() -> AdminResponse.error(
                            404,
                            "the call '" + id + "' is not kept: those are the last " + ServerErrors.ERRORS_OF_SERVER
                                    + " failed calls of each server, and the calls that a page Live shows now"));
        }
    }
}
