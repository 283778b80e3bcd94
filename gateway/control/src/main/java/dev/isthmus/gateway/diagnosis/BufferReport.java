package dev.isthmus.gateway.diagnosis;

import dev.isthmus.gateway.memory.BufferAllocators;
import dev.isthmus.gateway.memory.MemoryBudget;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.PoolArenaMetric;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.PooledByteBufAllocatorMetric;
import io.netty.util.internal.PlatformDependent;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Where memory is. Sizes are in bytes. */
final class BufferReport {
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
        document.put("heap", Map.of("used", heap.getUsed(), "committed", heap.getCommitted(), "limit", heap.getMax()));
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
