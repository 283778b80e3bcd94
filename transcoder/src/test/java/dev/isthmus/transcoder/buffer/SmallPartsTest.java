package dev.isthmus.transcoder.buffer;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.Random;
import java.util.function.Consumer;
import java.util.function.IntSupplier;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** A body received in tiny parts is kept in few components: about one per KiB. */
class SmallPartsTest {
    private static final ByteBufAllocator ALLOCATOR = ByteBufAllocator.DEFAULT;
    private static final int SIZE = 200_000;

    private final byte[] content = new byte[SIZE];
    private final ByteBuf read = ALLOCATOR.directBuffer(SIZE);

    SmallPartsTest() {
        new Random(5).nextBytes(content);
        read.writeBytes(content);
    }

    /** Skips every other byte, because adjacent parts are joined anyway. */
    private byte[] add(IntSupplier length, Consumer<ByteBuf> to) {
        ByteBuf expected = Unpooled.buffer();
        for (int at = 0; at < SIZE; ) {
            int taken = Math.min(length.getAsInt(), SIZE - at);
            to.accept(read.retainedSlice(at, taken));
            expected.writeBytes(content, at, taken);
            at += taken + 1;
        }
        read.release();
        return ByteBufUtil.getBytes(expected);
    }

    private static void expect(byte[] all, Supplier<ByteBuf> taking) {
        ByteBuf taken = taking.get();
        assertThat(taken.nioBufferCount()).isLessThan(2 * all.length / SmallParts.SMALL + 12);
        assertThat(ByteBufUtil.getBytes(taken)).isEqualTo(all);
        taken.release();
    }

    private static IntSupplier random() {
        Random random = new Random(9);
        return () -> random.nextInt(8) == 0 ? random.nextInt(3000) + 1 : random.nextInt(40) + 1;
    }

    private static IntSupplier[] lengths() {
        return new IntSupplier[] {() -> 1, () -> 700, random()};
    }

    @Test
    void gathering_ofTinyParts_hasFew() {
        for (IntSupplier length : lengths()) {
            read.retain();
            BufferCollector gathering = new BufferCollector(ALLOCATOR);
            expect(add(length, gathering::add), gathering::take);
        }
        read.release();
    }

    @Test
    void joined_ofTinyParts_hasFew() {
        for (IntSupplier length : lengths()) {
            read.retain();
            ByteBuf[] all = {null};
            byte[] expected =
                    add(length, part -> all[0] = all[0] == null ? part : SmallParts.join(ALLOCATOR, all[0], part));
            expect(expected, () -> all[0]);
        }
        read.release();
    }

    @Test
    void joined_afterSomeWasTaken_isRight() {
        read.retain();
        ByteBuf[] all = {null};
        ByteBuf taken = Unpooled.buffer();
        byte[] expected = add(random(), part -> {
            all[0] = all[0] == null ? part : SmallParts.join(ALLOCATOR, all[0], part);
            int readable = all[0].readableBytes();
            if (readable > 5000) {
                taken.writeBytes(all[0], readable - 10);
                if (all[0] instanceof io.netty.buffer.CompositeByteBuf whole) {
                    whole.discardReadComponents();
                }
            }
        });
        taken.writeBytes(all[0]);
        assertThat(ByteBufUtil.getBytes(taken)).isEqualTo(expected);
        all[0].release();
        read.release();
    }

    @Test
    void smallPart_alone_doesNotKeepTheReadItCameIn() {
        read.retain();
        ByteBuf kept = SmallParts.kept(ALLOCATOR, read.retainedSlice(7, 1));
        BufferCollector gathering = new BufferCollector(ALLOCATOR);
        gathering.add(read.retainedSlice(7, 1));
        assertThat(read.refCnt()).isEqualTo(2);
        assertThat(kept.readByte()).isEqualTo(content[7]);
        kept.release();
        gathering.release();
        read.release(2);
    }
}
