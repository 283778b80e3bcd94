package dev.isthmus.gateway.net;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.memory.BufferAllocators;
import io.netty.buffer.ByteBuf;
import io.netty.channel.AdaptiveRecvByteBufAllocator;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class PackedReadAllocatorTest {
    private static final int USUAL = 4096;

    private final PackedReadAllocator.PackedReadHandle reads =
            new PackedReadAllocator(new AdaptiveRecvByteBufAllocator(64, USUAL, 65_536)).newHandle();
    private final List<ByteBuf> held = new ArrayList<>();

    @AfterEach
    void release() {
        reads.readComplete();
        held.forEach(ByteBuf::release);
    }

    /** Reads so many bytes, which somebody goes on holding or not. */
    private ByteBuf read(int bytes, boolean holds) {
        ByteBuf into = reads.allocate(BufferAllocators.shared());
        reads.attemptedBytesRead(into.writableBytes());
        into.writeZero(bytes);
        reads.lastBytesRead(bytes);
        if (holds) {
            held.add(into);
        } else {
            into.release();
        }
        return into;
    }

    @Test
    void readBehindWhatIsHeld_goesIntoTheSameMemory() {
        ByteBuf first = read(1000, true);
        ByteBuf second = read(1000, true);
        ByteBuf third = read(1000, true);
        assertThat(second.memoryAddress()).isEqualTo(first.memoryAddress() + 1000);
        assertThat(third.memoryAddress()).isEqualTo(first.memoryAddress() + 2000);
        assertThat(third.capacity()).isEqualTo(USUAL - 2000);
    }

    @Test
    void smallRest_isNotReadInto() {
        read(USUAL * 3 / 4 + 1, true);
        assertThat(read(1, true).capacity()).isEqualTo(USUAL);
    }

    @Test
    void memoryThatNobodyHolds_isReadIntoFromItsBeginning() {
        read(1000, false);
        assertThat(read(1000, true).capacity()).isEqualTo(USUAL);
    }

    @Test
    void turnThatIsOver_keepsNothing() {
        ByteBuf only = read(1000, true);
        reads.readComplete();
        assertThat(only.refCnt()).isEqualTo(1);
        assertThat(read(1000, true).capacity()).isGreaterThanOrEqualTo(USUAL / 2);
    }
}
