package dev.isthmus.gateway.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MessagePrefixTest {
    private static final ByteBufAllocator ALLOCATOR = ByteBufAllocator.DEFAULT;

    private static byte[] random(int size) {
        byte[] bytes = new byte[size];
        new Random(size).nextBytes(bytes);
        return bytes;
    }

    private static byte[] framed(byte[] message) {
        return ByteBufUtil.getBytes(
                Unpooled.buffer().writeByte(0).writeInt(message.length).writeBytes(message));
    }

    private static void expect(ByteBuf out, byte[] message) {
        assertThat(ByteBufUtil.getBytes(out)).isEqualTo(framed(message));
        out.release();
        assertThat(out.refCnt()).isZero();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 1024, 1025, 100_000})
    void message_ofAnySize_standsBehindItsPrefix(int size) {
        byte[] bytes = random(size);
        ByteBuf message = ALLOCATOR.buffer(Math.max(1, size)).writeBytes(bytes);
        expect(MessagePrefix.before(message, ALLOCATOR), bytes);
        assertThat(message.refCnt()).isZero();
    }

    @Test
    void message_largeAndInParts_isNotCopied() {
        byte[] bytes = random(100_000);
        ByteBuf first = ALLOCATOR.buffer().writeBytes(bytes, 0, 30_000);
        ByteBuf second = ALLOCATOR.buffer().writeBytes(bytes, 30_000, 70_000);
        ByteBuf message = ALLOCATOR.compositeBuffer().addComponents(true, first, second);
        ByteBuf out = MessagePrefix.before(message, ALLOCATOR);
        CompositeByteBuf parts = (CompositeByteBuf) out;
        assertThat(parts.numComponents()).isEqualTo(3);
        assertThat(parts.component(2).memoryAddress()).isEqualTo(second.memoryAddress());
        expect(out, bytes);
        assertThat(second.refCnt()).isZero();
    }

    @Test
    void message_asItWasReceived_isSentWithThePrefixItHas() {
        byte[] bytes = random(100_000);
        ByteBuf message = ALLOCATOR.buffer().writeBytes(framed(bytes)).skipBytes(MessagePrefix.BYTES);
        ByteBuf out = MessagePrefix.before(message, ALLOCATOR);
        assertThat(out).isSameAs(message);
        expect(out, bytes);
    }

    @Test
    void bytesBeforeTheMessage_thatAreNoPrefixOfIt_areNotSent() {
        byte[] bytes = random(100_000);
        ByteBuf message = ALLOCATOR
                .buffer()
                .writeBytes(framed(bytes))
                .skipBytes(MessagePrefix.BYTES)
                .skipBytes(6);
        byte[] rest = ByteBufUtil.getBytes(message);
        expect(MessagePrefix.before(message, ALLOCATOR), rest);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 100, 100_000})
    void firstPart_isSentBehindThePrefixOfTheWholeMessage(int size) {
        byte[] bytes = random(size);
        long length = 0xffff_fff0L;
        ByteBuf part = ALLOCATOR.buffer().writeBytes(bytes);
        ByteBuf out = MessagePrefix.before(part, length, ALLOCATOR);
        assertThat(out.readByte()).isZero();
        assertThat(out.readUnsignedInt()).isEqualTo(length);
        assertThat(ByteBufUtil.getBytes(out)).isEqualTo(bytes);
        out.release();
        assertThat(part.refCnt()).isZero();
    }

    @Test
    void firstPart_asItWasReceived_isSentWithThePrefixItHas() {
        ByteBuf part = ALLOCATOR
                .buffer()
                .writeBytes(framed(random(100_000)), 0, 50_000)
                .skipBytes(MessagePrefix.BYTES);
        ByteBuf out = MessagePrefix.before(part, 100_000, ALLOCATOR);
        assertThat(out).isSameAs(part);
        assertThat(out.readableBytes()).isEqualTo(50_000);
        out.release();
    }
}
