package dev.isthmus.gateway.diagnosis;

import dev.isthmus.gateway.admin.AdminQuery;
import dev.isthmus.gateway.admin.AdminRequest;
import dev.isthmus.gateway.admin.AdminResponse;
import dev.isthmus.gateway.admin.AdminRoutes;
import dev.isthmus.gateway.admin.RouteAccess;
import dev.isthmus.gateway.audit.AuditedChange;
import dev.isthmus.gateway.memory.BufferAllocators;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.net.ConnectionTable;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.PoolArenaMetric;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.PooledByteBufAllocatorMetric;
import io.netty.util.internal.PlatformDependent;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import javax.management.JMException;
import javax.management.ObjectName;

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

    /** Number and size of the objects of each class. */
    static final class HeapHistogram {
        private HeapHistogram() {}

        /**
         * The histogram as text, with the classes that take most. Stops the process while the heap is walked: about a
         * second for each GiB.
         *
         * @throws OipException UNIMPLEMENTED if this JVM does not offer it
         */
        static String text(int classes) {
            try {
                Object result = ManagementFactory.getPlatformMBeanServer()
                        .invoke(
                                new ObjectName("com.sun.management:type=DiagnosticCommand"),
                                "gcClassHistogram",
                                // Unreachable objects, too: without, it would first collect all garbage.
                                new Object[] {new String[] {"-all"}},
                                new String[] {String[].class.getName()});
                // Two lines of heading.
                return result.toString().lines().limit(classes + 2L).collect(Collectors.joining("\n", "", "\n"));
            } catch (JMException e) {
                throw new OipException(ErrorCode.UNIMPLEMENTED, "this JVM has no histogram of its heap", e);
            }
        }
    }

    /** Where memory is. Sizes are in bytes. */
    static final class BufferReport {
        private BufferReport() {}

        static Map<String, Object> document(ByteBufAllocator allocator, MemoryBudget budget) {
            Map<String, Object> document = new LinkedHashMap<>();
            document.put("budget", budget(budget.usage()));
            Map<String, Object> direct = new LinkedHashMap<>();
            direct.put("limit", PlatformDependent.maxDirectMemory());
            direct.put("pinned", BufferAllocators.pinned(allocator));
            if (allocator instanceof PooledByteBufAllocator pooled) {
                allocator(direct, pooled.metric());
            }
            document.put("direct", direct);
            MemoryUsage heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
            document.put(
                    "heap", Map.of("used", heap.getUsed(), "committed", heap.getCommitted(), "limit", heap.getMax()));
            return document;
        }

        private static Map<String, Object> budget(MemoryBudget.BudgetUsage usage) {
            Map<String, Object> budget = new LinkedHashMap<>();
            budget.put("used", usage.used());
            budget.put("limit", usage.limit());
            budget.put("pinned_limit", usage.pinnedLimit());
            budget.put("refused_calls", usage.refused());
            return budget;
        }

        private static void allocator(Map<String, Object> direct, PooledByteBufAllocatorMetric metric) {
            direct.put("reserved", metric.usedDirectMemory());
            direct.put("chunk_size", metric.chunkSize());
            List<Map<String, Object>> arenas = new ArrayList<>();
            for (PoolArenaMetric each : metric.directArenas()) {
                Map<String, Object> arena = new LinkedHashMap<>();
                arena.put("threads", each.numThreadCaches());
                arena.put("active_bytes", each.numActiveBytes());
                arena.put("active_allocations", each.numActiveAllocations());
                arena.put("active_small", each.numActiveSmallAllocations());
                arena.put("active_normal", each.numActiveNormalAllocations());
                arena.put("active_huge", each.numActiveHugeAllocations());
                arena.put("allocations", each.numAllocations());
                arenas.add(arena);
            }
            direct.put("arenas", arenas);
        }
    }
}
