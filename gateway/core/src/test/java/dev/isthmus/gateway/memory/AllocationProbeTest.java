package dev.isthmus.gateway.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.junit.jupiter.api.Test;

class AllocationProbeTest {
    /** An allocator that can be exhausted of direct memory. */
    private static final class Exhaustible extends AbstractByteBufAllocator {
        private boolean exhausted;

        @Override
        protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
            return Unpooled.buffer(initialCapacity, maxCapacity);
        }

        @Override
        protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
            if (exhausted) {
                throw new OutOfMemoryError("none is left");
            }
            return Unpooled.directBuffer(initialCapacity, maxCapacity);
        }

        @Override
        public boolean isDirectBufferPooled() {
            return false;
        }
    }

    private final Exhaustible allocator = new Exhaustible();
    private final AllocationProbe check = new AllocationProbe(allocator);

    @Test
    void thirdFailureInARow_counts() {
        assertThat(check.failure()).isNull();
        allocator.exhausted = true;
        assertThat(check.failure()).isNull();
        assertThat(check.failure()).isNull();
        assertThat(check.failure()).isEqualTo("direct memory is exhausted: none is left");
        allocator.exhausted = false;
        assertThat(check.failure()).isNull();
    }

    @Test
    void failuresThatPass_areForgotten() {
        for (int i = 0; i < 5; i++) {
            allocator.exhausted = true;
            assertThat(check.failure()).isNull();
            assertThat(check.failure()).isNull();
            allocator.exhausted = false;
            assertThat(check.failure()).isNull();
        }
    }
}
