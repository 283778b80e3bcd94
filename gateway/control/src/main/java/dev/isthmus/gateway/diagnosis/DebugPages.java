package dev.isthmus.gateway.diagnosis;

import dev.isthmus.gateway.admin.AdminQuery;
import dev.isthmus.gateway.admin.AdminRequest;
import dev.isthmus.gateway.admin.AdminResponse;
import dev.isthmus.gateway.admin.AdminRoutes;
import dev.isthmus.gateway.admin.RouteAccess;
import dev.isthmus.gateway.audit.AuditedChange;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.net.ConnectionTable;
import io.netty.buffer.ByteBufAllocator;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** The routes below {@code /debug}, which always need the token. */
public final class DebugPages {
    private static final String TEXT = "text/plain; charset=utf-8";
    private static final int MAX_SECONDS = 300;
    private static final int DEFAULT_SECONDS = 30;
    private static final int MAX_CLASSES = 1000;
    private static final int DEFAULT_CLASSES = 100;

    private final ByteBufAllocator allocator;
    private final MemoryBudget memory;
    private final ServerErrors errors;
    private final ConnectionReport connections;
    private final FlightRecording recording = new FlightRecording();

    /** @param allocator of the buffers of all connections */
    public DebugPages(
            ByteBufAllocator allocator, MemoryBudget memory, ConnectionTable connections, ServerErrors errors) {
        this.allocator = allocator;
        this.memory = memory;
        this.errors = errors;
        this.connections = new ConnectionReport(connections);
    }

    public void addTo(AdminRoutes routes) {
        routes.route("GET", "/debug/threads", RouteAccess.DIAGNOSIS, this::threads)
                .change("GET", "/debug/heap", RouteAccess.OPERATE, "heap histogram", this::heap)
                .route("GET", "/debug/buffers", RouteAccess.DIAGNOSIS, this::buffers)
                .route("GET", "/debug/connections", RouteAccess.DIAGNOSIS, connections::page)
                .route("GET", "/debug/errors", RouteAccess.DIAGNOSIS, this::errors)
                .change("GET", "/debug/jfr", RouteAccess.ADMIN, "flight recording", this::record);
    }

    private AdminResponse threads(AdminRequest request) {
        AdminQuery.of(request);
        return AdminResponse.text(TEXT, ThreadDump.text());
    }

    private synchronized AdminResponse heap(AdminRequest request) {
        int classes = AdminQuery.of(request, "classes").integer("classes", 1, MAX_CLASSES, DEFAULT_CLASSES);
        return AdminResponse.text(TEXT, HeapHistogram.text(classes));
    }

    private AdminResponse buffers(AdminRequest request) {
        AdminQuery.of(request);
        Map<String, Object> document = BufferReport.document(allocator, memory);
        document.put("largest_connections", connections.largest());
        return AdminResponse.json(200, document);
    }

    private AdminResponse errors(AdminRequest request) {
        AdminQuery query = AdminQuery.of(request, "upstream", "limit");
        int most = query.integer("limit", 1, ServerErrors.ERRORS_OF_SERVER, ServerErrors.ERRORS_OF_SERVER);
        List<Map<String, Object>> servers = errors.document(query.text("upstream", ""), most);
        return AdminResponse.json(200, Map.of("servers", servers));
    }

    private AdminResponse record(AdminRequest request) {
        int seconds = AdminQuery.of(request, "seconds").integer("seconds", 1, MAX_SECONDS, DEFAULT_SECONDS);
        Path file = recording.record(seconds, request.connected());
        return AdminResponse.temporaryFile("application/octet-stream", file)
                .changed(AuditedChange.done("flight recording", "", "", seconds + " s recorded"));
    }
}
