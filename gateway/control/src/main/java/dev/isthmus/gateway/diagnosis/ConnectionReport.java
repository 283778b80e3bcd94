package dev.isthmus.gateway.diagnosis;

import dev.isthmus.gateway.admin.AdminQuery;
import dev.isthmus.gateway.admin.AdminRequest;
import dev.isthmus.gateway.admin.AdminResponse;
import dev.isthmus.gateway.net.ConnectionDescription;
import dev.isthmus.gateway.net.ConnectionDescription.ConnectionSide;
import dev.isthmus.gateway.net.ConnectionTable;
import dev.isthmus.gateway.net.ConnectionTable.ConnectionPage;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The open connections. */
final class ConnectionReport {
    private static final int MAX_PAGE = 1000;
    private static final int DEFAULT_PAGE = 100;
    private static final int LARGEST = 10;
    /** Connections among which the largest are looked for. */
    private static final int MAX_COMPARED = 10_000;

    private static final double NANOS_PER_SECOND = 1e9;
    private static final Duration TIMEOUT = Duration.ofSeconds(2);

    private final ConnectionTable table;

    ConnectionReport(ConnectionTable table) {
        this.table = table;
    }

    /** A page of connections, in the order in which they were opened. */
    AdminResponse page(AdminRequest request) {
        AdminQuery query = AdminQuery.of(request, "side", "limit", "after");
        int most = query.integer("limit", 1, MAX_PAGE, DEFAULT_PAGE);
        int after = query.integer("after", 0, Integer.MAX_VALUE, 0);
        String side = query.oneOf("side", "all", "all", "client", "server");
        ConnectionPage page = page(after, most);
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("open", table.size());
        List<Map<String, Object>> shown = new ArrayList<>();
        page.byNumber().forEach((number, each) -> {
            if (side.equals("all") || side.equals(label(each.side()))) {
                shown.add(document(number, each));
            }
        });
        document.put("connections", shown);
        if (page.silent() > 0) {
            document.put("not_responding", page.silent());
        }
        if (page.next() > 0) {
            document.put("next", page.next());
        }
        return AdminResponse.json(200, document);
    }

    /** The connections for which most bytes wait. */
    List<Map<String, Object>> largest() {
        return page(0, MAX_COMPARED).byNumber().entrySet().stream()
                .filter(each -> each.getValue().bytesWaiting() > 0)
                .sorted(Comparator.comparingLong((Map.Entry<Long, ConnectionDescription> each) ->
                                each.getValue().bytesWaiting())
                        .reversed())
                .limit(LARGEST)
                .map(each -> document(each.getKey(), each.getValue()))
                .toList();
    }

    private ConnectionPage page(long after, int most) {
        try {
            return table.page(after, most, TIMEOUT);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new OipException(ErrorCode.UNAVAILABLE, "the gateway is shutting down", e);
        }
    }

    private static Map<String, Object> document(long number, ConnectionDescription connection) {
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("number", number);
        document.put("side", label(connection.side()));
        document.put(connection.side() == ConnectionSide.CLIENT ? "listener" : "upstream", connection.owner());
        document.put("peer", connection.peer());
        document.put("local", connection.local());
        document.put("protocol", connection.protocol());
        if (connection.tls() != null) {
            document.put("tls", connection.tls());
        }
        document.put("age_seconds", seconds(connection.age()));
        if (connection.idle() != null) {
            document.put("idle_seconds", seconds(connection.idle()));
        }
        document.put("streams", connection.streams());
        document.put("bytes_waiting", connection.bytesWaiting());
        return document;
    }

    private static double seconds(Duration duration) {
        return Math.round(duration.toNanos() / NANOS_PER_SECOND * 1000) / 1000.0;
    }

    private static String label(ConnectionSide side) {
        return side.name().toLowerCase(Locale.ROOT);
    }
}
