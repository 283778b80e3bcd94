package dev.isthmus.gateway.payloadlog;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.memory.ReservedBytes;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PayloadBufferTest {
    private static final PooledByteBufAllocator ALLOCATOR = PooledByteBufAllocator.DEFAULT;

    private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private final ReservedBytes memory = new ReservedBytes(1 << 20);

    private PayloadBuffer buffer(long maxSize) {
        return new PayloadBuffer(ALLOCATOR, memory, new PayloadMeters(meters), maxSize);
    }

    private double queued() {
        return meters.get("isthmus.payload.log.queued").gauge().value();
    }

    private static ByteBuf bytes(int length) {
        ByteBuf bytes = ALLOCATOR.directBuffer(length);
        for (int i = 0; i < length; i++) {
            bytes.writeByte(i * 31 + (i >> 8));
        }
        return bytes;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 7, 1000, 1024, 5000, 70_000, 100_000})
    void parts_makeUpTheWhole_andAreLeftAsTheyAre(int step) {
        ByteBuf whole = bytes(100_000);
        PayloadBuffer buffer = buffer(100_000);
        for (int at = 0; at < 100_000; at += step) {
            ByteBuf part = whole.slice(at, Math.min(step, 100_000 - at));
            buffer.add(part);
            assertThat(part.readerIndex()).isZero();
        }
        assertThat(memory.reserved()).isEqualTo(100_000);
        assertThat(queued()).isEqualTo(100_000);
        ByteBuf taken = buffer.take();
        assertThat(taken).isEqualTo(whole);
        // The reservation passes on with the bytes.
        buffer.release();
        assertThat(memory.reserved()).isEqualTo(100_000);
        taken.release();
        assertThat(whole.release()).isTrue();
    }

    @Test
    void composite_isGatheredByComponent() {
        ByteBuf one = bytes(10_000);
        ByteBuf other = bytes(20_000);
        CompositeByteBuf composite = ALLOCATOR
                .compositeBuffer()
                .addComponent(true, one.retainedSlice())
                .addComponent(true, other.retainedSlice());
        composite.skipBytes(5_000);
        PayloadBuffer buffer = buffer(100_000);
        buffer.add(composite);
        ByteBuf taken = buffer.take();
        assertThat(taken).isEqualTo(composite);
        assertThat(composite.release()).isTrue();
        assertThat(taken.readableBytes()).isEqualTo(25_000);
        taken.release();
        one.release();
        other.release();
    }

    @Test
    void partOfMuchMoreMemory_isCopied() {
        ByteBuf read = bytes(512 << 10);
        PayloadBuffer buffer = buffer(1 << 20);
        buffer.add(read.slice(0, 100 << 10));
        assertThat(read.refCnt()).isEqualTo(1);
        PayloadBuffer shared = buffer(1 << 20);
        shared.add(read.slice(0, 200 << 10));
        assertThat(read.refCnt()).isEqualTo(2);
        buffer.release();
        shared.release();
        assertThat(read.release()).isTrue();
        assertThat(memory.reserved()).isZero();
    }

    @Test
    void tooLarge_keepsNothing_butTheSize() {
        ByteBuf part = ALLOCATOR.buffer().writeBytes("0123456789".getBytes(StandardCharsets.US_ASCII));
        PayloadBuffer buffer = buffer(25);
        for (int i = 0; i < 4; i++) {
            buffer.add(part);
        }
        assertThat(buffer.state()).isEqualTo(PayloadBuffer.GatherState.TOO_LARGE);
        assertThat(buffer.size()).isEqualTo(40);
        assertThat(memory.reserved()).isZero();
        assertThat(queued()).isZero();
        assertThat(part.release()).isTrue();
    }

    @Test
    void noMemory_keepsNothing() {
        ByteBuf part = bytes(10_000);
        assertThat(memory.reserve((1 << 20) - 15_000)).isTrue();
        PayloadBuffer buffer = buffer(1 << 20);
        buffer.add(part);
        buffer.add(part);
        assertThat(buffer.state()).isEqualTo(PayloadBuffer.GatherState.NO_MEMORY);
        assertThat(memory.reserved()).isEqualTo((1 << 20) - 15_000);
        assertThat(part.release()).isTrue();
    }
}
