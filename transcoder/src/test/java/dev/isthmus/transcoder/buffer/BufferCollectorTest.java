package dev.isthmus.transcoder.buffer;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.FieldSource;

@ParameterizedClass
@FieldSource("ALLOCATORS")
class BufferCollectorTest {
    static final List<ByteBufAllocator> ALLOCATORS =
            List.of(ByteBufAllocator.DEFAULT, PooledByteBufAllocator.DEFAULT, new UnpooledByteBufAllocator(true));

    @Parameter
    ByteBufAllocator allocator = ByteBufAllocator.DEFAULT;

    private ByteBuf memory(String text) {
        return allocator.directBuffer(text.length()).writeBytes(text.getBytes(US_ASCII));
    }

    /** A part whose capacity extends to the end of its memory. */
    private static ByteBuf part(ByteBuf memory, int from, int to) {
        return memory.retainedDuplicate().setIndex(from, to);
    }

    private static String text(ByteBuf taken) {
        return taken.toString(US_ASCII);
    }

    @Test
    void parts_adjacent_areOnePiece() {
        ByteBuf memory = memory("?abcdef?");
        BufferCollector gathering = new BufferCollector(allocator);
        gathering.add(part(memory, 1, 3));
        gathering.add(part(memory, 3, 3));
        gathering.add(part(memory, 3, 4));
        gathering.add(memory.retainedSlice(4, 3));
        memory.release();
        ByteBuf taken = gathering.take();
        assertThat(taken).isNotInstanceOf(CompositeByteBuf.class);
        assertThat(taken.isWritable()).isFalse();
        assertThat(text(taken)).isEqualTo("abcdef");
        taken.release();
    }

    @Test
    void parts_adjacent_holdTheirMemoryOnce() {
        ByteBuf memory = memory("abcdef");
        BufferCollector gathering = new BufferCollector(allocator);
        gathering.add(part(memory, 0, 2));
        int held = memory.refCnt();
        gathering.add(part(memory, 2, 6));
        assertThat(memory.refCnt()).isEqualTo(held);
        gathering.take().release();
        assertThat(memory.refCnt()).isOne();
        memory.release();
    }

    private static final int K = SmallParts.SMALL;

    /** Repeats each character so often that it is not a small part. */
    private static String wide(String text) {
        StringBuilder wide = new StringBuilder();
        text.chars().forEach(c -> wide.repeat(c, K));
        return wide.toString();
    }

    @Test
    void parts_ofSlices_stayApart() {
        ByteBuf memory = memory(wide("abcd"));
        BufferCollector gathering = new BufferCollector(allocator);
        gathering.add(memory.retainedSlice(0, 2 * K));
        gathering.add(memory.retainedSlice(2 * K, 2 * K));
        memory.release();
        ByteBuf taken = gathering.take();
        assertThat(taken.nioBufferCount()).isEqualTo(2);
        assertThat(text(taken)).isEqualTo(wide("abcd"));
        taken.release();
    }

    @Test
    void parts_notAdjacent_stayApart() {
        ByteBuf one = memory(wide("abcdef"));
        ByteBuf other = memory(wide("ABCDEF"));
        BufferCollector gathering = new BufferCollector(allocator);
        gathering.add(part(one, 0, 2 * K));
        gathering.add(part(one, 3 * K, 4 * K));
        gathering.add(part(one, 2 * K, 3 * K));
        gathering.add(part(other, 3 * K, 4 * K));
        gathering.add(part(other, 4 * K, 6 * K));
        one.release();
        other.release();
        ByteBuf taken = gathering.take();
        assertThat(taken.nioBufferCount()).isEqualTo(4);
        assertThat(text(taken)).isEqualTo(wide("abdcDEF"));
        taken.release();
    }

    @Test
    void parts_onTheHeap_areTaken() {
        ByteBuf memory = allocator.heapBuffer().writeBytes("abcd".getBytes(US_ASCII));
        BufferCollector gathering = new BufferCollector(allocator);
        gathering.add(part(memory, 0, 2));
        gathering.add(part(memory, 2, 4));
        memory.release();
        ByteBuf taken = gathering.take();
        assertThat(text(taken)).isEqualTo("abcd");
        taken.release();
    }

    @Test
    void parts_many_becomeFewWhereWanted() {
        ByteBuf memory = memory("abcdefghij".repeat(3));
        BufferCollector gathering = new BufferCollector(allocator, 4);
        for (int i = 0; i < 30; i++) {
            gathering.add(memory.retainedSlice(i, 1));
        }
        memory.release();
        ByteBuf taken = gathering.take();
        assertThat(taken.nioBufferCount()).isLessThanOrEqualTo(8);
        assertThat(text(taken)).isEqualTo("abcdefghij".repeat(3));
        taken.release();
    }

    @Test
    void nothing_isEmpty() {
        BufferCollector gathering = new BufferCollector(allocator);
        gathering.add(allocator.directBuffer());
        assertThat(gathering.take().isReadable()).isFalse();
        gathering.release();
    }

    @Test
    void release_givesBackAndLeavesItUsable() {
        ByteBuf memory = memory("abcd");
        BufferCollector gathering = new BufferCollector(allocator);
        gathering.add(part(memory, 0, 1));
        gathering.add(part(memory, 2, 3));
        gathering.release();
        gathering.release();
        assertThat(memory.refCnt()).isOne();
        gathering.add(part(memory, 3, 4));
        memory.release();
        ByteBuf taken = gathering.take();
        assertThat(text(taken)).isEqualTo("d");
        taken.release();
    }
}
