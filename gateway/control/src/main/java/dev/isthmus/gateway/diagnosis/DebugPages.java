package dev.isthmus.gateway.diagnosis;

import dev.isthmus.gateway.admin.AdminQuery;
import dev.isthmus.gateway.admin.AdminRequest;
import dev.isthmus.gateway.admin.AdminResponse;
import dev.isthmus.gateway.admin.AdminRoutes;
import dev.isthmus.gateway.admin.OneAtATime;
import dev.isthmus.gateway.admin.RouteAccess;
import dev.isthmus.gateway.audit.AuditLog.AuditedChange;
import dev.isthmus.gateway.memory.BufferAllocators;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.net.ConnectionDescription;
import dev.isthmus.gateway.net.ConnectionDescription.ConnectionSide;
import dev.isthmus.gateway.net.ConnectionTable;
import dev.isthmus.gateway.net.ConnectionTable.ConnectionPage;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.PoolArenaMetric;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.PooledByteBufAllocatorMetric;
import io.netty.util.internal.PlatformDependent;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.nio.file.Files;
import java.nio.file.Path;
import java.text.ParseException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import javax.management.JMException;
import javax.management.ObjectName;
import jdk.jfr.Configuration;
import jdk.jfr.Recording;

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
    private final OneAtATime histograms = new OneAtATime("a histogram is being made; one at a time is possible");

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
        return AdminResponse.text(TEXT, DiagnosticCommands.threads());
    }

    private AdminResponse heap(AdminRequest request) {
        int classes = AdminQuery.of(request, "classes").integer("classes", 1, MAX_CLASSES, DEFAULT_CLASSES);
        try (OneAtATime _ = histograms.begin()) {
            return AdminResponse.text(TEXT, DiagnosticCommands.heap(classes));
        }
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

    /** Commands of the JVM, which {@code jcmd} has, too. */
    static final class DiagnosticCommands {
        private DiagnosticCommands() {}

        /** The stacks of all platform threads, with their locks. Stops the process as {@link #heap} does. */
        static String threads() {
            return run("threadPrint", "-l", "stacks of its threads");
        }

        /**
         * The classes that take most of the heap. Stops the process while the heap is walked: about a second for each
         * GiB.
         */
        static String heap(int classes) {
            // Unreachable objects, too: without, it would first collect all garbage.
            String histogram = run("gcClassHistogram", "-all", "histogram of its heap");
            // Two lines of heading.
            return histogram.lines().limit(classes + 2L).collect(Collectors.joining("\n", "", "\n"));
        }

        /** @throws OipException UNIMPLEMENTED if this JVM does not offer it */
        private static String run(String command, String option, String what) {
            try {
                return ManagementFactory.getPlatformMBeanServer()
                        .invoke(
                                new ObjectName("com.sun.management:type=DiagnosticCommand"),
                                command,
                                new Object[] {new String[] {option}},
                                new String[] {String[].class.getName()})
                        .toString();
            } catch (JMException e) {
                throw new OipException(ErrorCode.UNIMPLEMENTED, "this JVM has no " + what, e);
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

    record ConnectionReport(ConnectionTable table) {
        private static final int MAX_PAGE = 1000;
        private static final int DEFAULT_PAGE = 100;
        private static final int LARGEST = 10;
        /** Connections among which the largest are looked for. */
        private static final int MAX_COMPARED = 10_000;

        private static final Duration TIMEOUT = Duration.ofSeconds(2);

        /** A page of connections, in the order in which they were opened. */
        AdminResponse page(AdminRequest request) {
            AdminQuery query = AdminQuery.of(request, "side", "limit", "after");
            int most = query.integer("limit", 1, MAX_PAGE, DEFAULT_PAGE);
            long after = query.after();
            String side = query.oneOf("side", "all", "all", "client", "server");
            ConnectionPage page = page(after, most);
            Map<String, Object> document = new LinkedHashMap<>();
            document.put("open", table.size());
            List<Map<String, Object>> shown = new ArrayList<>();
            page.byNumber().forEach((number, each) -> {
                if (side.equals("all") || side.equals(each.side().label())) {
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
            document.put("side", connection.side().label());
            document.put(connection.side() == ConnectionSide.CLIENT ? "listener" : "upstream", connection.owner());
            document.put("peer", connection.peer());
            document.put("local", connection.local());
            document.put("protocol", connection.protocol());
            if (connection.tls() != null) {
                document.put("tls", connection.tls());
            }
            document.put("age_seconds", connection.age().toMillis() / 1e3);
            if (connection.idle() != null) {
                document.put("idle_seconds", connection.idle().toMillis() / 1e3);
            }
            document.put("streams", connection.streams());
            document.put("bytes_waiting", connection.bytesWaiting());
            return document;
        }
    }

    /** Records events of the JVM (JDK Flight Recorder), one recording at a time. Thread-safe. */
    static final class FlightRecording {
        /** They have the environment and the command lines of this process and of others, where secrets may be. */
        private static final List<String> CONFIDENTIAL = List.of(
                "jdk.InitialEnvironmentVariable",
                "jdk.InitialSystemProperty",
                "jdk.SystemProcess",
                "jdk.JVMInformation");

        private static final String SETTINGS = "profile";
        private static final long MAX_BYTES = 256L << 20;
        private static final long CHECK_MILLIS = 200;

        private final OneAtATime recordings = new OneAtATime("a recording is being made; one at a time is possible");

        /**
         * Records for a time. Blocks.
         *
         * @param wanted whether someone still waits for it; asked several times a second
         * @return a file that only this user can read; the caller deletes it
         * @throws OipException ABORTED while another one is made, CANCELLED if it is not wanted any more, UNIMPLEMENTED if
         *     this JVM cannot record, UNAVAILABLE if the file cannot be written
         */
        Path record(int seconds, BooleanSupplier wanted) {
            try (OneAtATime _ = recordings.begin();
                    Recording recording = new Recording(settings())) {
                CONFIDENTIAL.forEach(recording::disable);
                recording.setMaxSize(MAX_BYTES);
                recording.start();
                await(seconds, wanted);
                recording.stop();
                return dumped(recording);
            } catch (IOException e) {
                throw new OipException(
                        ErrorCode.UNAVAILABLE,
                        "the recording cannot be written to the directory for temporary files, "
                                + System.getProperty("java.io.tmpdir"),
                        e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new OipException(ErrorCode.CANCELLED, "the recording was interrupted", e);
            }
        }

        private static Map<String, String> settings() {
            try {
                return Configuration.getConfiguration(SETTINGS).getSettings();
            } catch (IOException | ParseException | IllegalStateException e) {
                throw new OipException(ErrorCode.UNIMPLEMENTED, "this JVM has no Flight Recorder", e);
            }
        }

        private static void await(int seconds, BooleanSupplier wanted) throws InterruptedException {
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
            while (System.nanoTime() < end) {
                if (!wanted.getAsBoolean()) {
                    throw new OipException(ErrorCode.CANCELLED, "nobody waits for the recording any more");
                }
                long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime()) + 1;
                TimeUnit.MILLISECONDS.sleep(Math.min(CHECK_MILLIS, left));
            }
        }

        private static Path dumped(Recording recording) throws IOException {
            Path file = Files.createTempFile("isthmus-", ".jfr");
            try {
                recording.dump(file);
                return file;
            } catch (IOException | RuntimeException e) {
                Files.deleteIfExists(file);
                throw e;
            }
        }
    }
}
