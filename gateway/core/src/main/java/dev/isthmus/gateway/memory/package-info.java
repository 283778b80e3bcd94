/**
 * Limits and checks of direct memory.
 *
 * <p>A {@code MemoryReservation} is what one call holds, from the head of its request until its response is written;
 * {@code MemoryBudget} is the limit for all. {@code BufferAllocators} chooses the allocator of the process.
 */
@NullMarked
package dev.isthmus.gateway.memory;

import org.jspecify.annotations.NullMarked;
