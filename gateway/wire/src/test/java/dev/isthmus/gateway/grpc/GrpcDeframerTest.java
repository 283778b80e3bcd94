package dev.isthmus.gateway.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.isthmus.gateway.coding.Compressed;
import dev.isthmus.gateway.coding.ContentCoding;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class GrpcDeframerTest {
    private static final int LIMIT = 1000;
    /** Length above which a test has the deframer pass a message in parts. */
    private static final int LEAST = 20;

    private final GrpcDeframer deframer = new GrpcDeframer(ByteBufAllocator.DEFAULT, LIMIT, null);

    @AfterEach
    void release() {
        deframer.release();
        deframer.release();
    }

    private static byte[] random(int size, int seed) {
        byte[] bytes = new byte[size];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    private static ByteBuf framed(int flag, byte[]... messages) {
        ByteBuf data = ByteBufAllocator.DEFAULT.buffer();
        for (byte[] message : messages) {
            data.writeByte(flag).writeInt(message.length).writeBytes(message);
        }
        return data;
    }

    private static List<byte[]> taken(GrpcDeframer from) {
        List<byte[]> messages = new ArrayList<>();
        for (ByteBuf message = from.next(); message != null; message = from.next()) {
            messages.add(ByteBufUtil.getBytes(message));
            message.release();
        }
        return messages;
    }

    private ErrorCode refused(ByteBuf data) {
        deframer.add(data);
        return catchThrowableOfType(OipException.class, deframer::next).code();
    }

    @Test
    void message_inOnePart_isThatPart() {
        ByteBuf data = framed(0, random(100, 1));
        deframer.add(data);
        ByteBuf message = deframer.next();
        assertThat(message).isSameAs(data).isEqualTo(Unpooled.wrappedBuffer(random(100, 1)));
        assertThat(deframer.partial()).isFalse();
        data.release();
    }

    @Test
    void messages_inOnePart_areSlicesOfIt() {
        deframer.add(framed(0, random(100, 1), new byte[0], random(7, 2)));
        assertThat(taken(deframer)).containsExactly(random(100, 1), new byte[0], random(7, 2));
        assertThat(deframer.next()).isNull();
    }

    @Test
    void message_beyondTheRatio_isRefused() {
        var inflating = new GrpcDeframer(ByteBufAllocator.DEFAULT, 16 << 20, ContentCoding.GZIP);
        inflating.add(framed(1, Compressed.GZIP.of(new byte[8 << 20])));
        OipException failure = catchThrowableOfType(OipException.class, inflating::next);
        assertThat(failure.code()).isEqualTo(ErrorCode.PAYLOAD_TOO_LARGE);
        assertThat(failure.message()).contains("at most 100 bytes are accepted for each compressed one");
        inflating.release();
    }

    @Test
    void message_inPartsOfOneByte_hasFewParts() {
        byte[] message = random(100_000, 3);
        var large = new GrpcDeframer(ByteBufAllocator.DEFAULT, message.length, null);
        ByteBuf data = framed(0, message);
        while (data.isReadable()) {
            assertThat(large.next()).isNull();
            large.add(data.readRetainedSlice(1));
        }
        data.release();
        ByteBuf taken = Objects.requireNonNull(large.next());
        assertThat(taken.nioBufferCount()).isLessThan(2 * message.length / 1024);
        assertThat(ByteBufUtil.getBytes(taken)).isEqualTo(message);
        taken.release();
        large.release();
    }

    @Test
    void messages_splitAnywhere_areTheSame() {
        byte[][] messages = {random(30, 1), new byte[0], random(7, 2)};
        int length = 3 * MessagePrefix.BYTES + 30 + 7;
        for (int first = 0; first <= length; first++) {
            for (int second = first; second <= length; second++) {
                ByteBuf data = framed(0, messages);
                List<byte[]> found = new ArrayList<>();
                deframer.add(data.readRetainedSlice(first));
                found.addAll(taken(deframer));
                deframer.add(data.readRetainedSlice(second - first));
                found.addAll(taken(deframer));
                deframer.add(data);
                found.addAll(taken(deframer));
                assertThat(found).as("split at %d and %d", first, second).containsExactly(messages);
                assertThat(deframer.partial()).isFalse();
            }
        }
    }

    @Test
    void message_inTwoParts_isNotCopied() {
        ByteBuf data = framed(0, random(4000, 1));
        ByteBuf second = data.slice(2000, 2005);
        var large = new GrpcDeframer(ByteBufAllocator.DEFAULT, 4000, null);
        large.add(data.retainedSlice(0, 2000));
        large.add(second.retain());
        ByteBuf message = Objects.requireNonNull(large.next());
        assertThat(message).isInstanceOf(CompositeByteBuf.class).isEqualTo(Unpooled.wrappedBuffer(random(4000, 1)));
        assertThat(((CompositeByteBuf) message).component(1).memoryAddress()).isEqualTo(second.memoryAddress());
        message.release();
        data.release();
        assertThat(data.refCnt()).isZero();
    }

    @Test
    void message_tooLarge_isRefusedBeforeItComes() {
        assertThat(refused(ByteBufAllocator.DEFAULT.buffer().writeByte(0).writeInt(LIMIT + 1)))
                .isEqualTo(ErrorCode.PAYLOAD_TOO_LARGE);
    }

    @Test
    void message_ofNegativeLength_isTooLarge() {
        assertThat(refused(ByteBufAllocator.DEFAULT.buffer().writeByte(0).writeInt(-1)))
                .isEqualTo(ErrorCode.PAYLOAD_TOO_LARGE);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 255})
    void flag_thatNobodyExplains_isRefused(int flag) {
        assertThat(refused(framed(flag, random(10, 1)))).isEqualTo(ErrorCode.INTERNAL);
    }

    @Test
    void message_compressed_isInflated() {
        byte[] plain = new byte[LIMIT];
        var inflating = new GrpcDeframer(ByteBufAllocator.DEFAULT, LIMIT, ContentCoding.GZIP);
        inflating.add(framed(1, Compressed.GZIP.of(plain)));
        inflating.add(framed(0, random(5, 1)));
        assertThat(taken(inflating)).containsExactly(plain, random(5, 1));
        inflating.release();
    }

    @Test
    void message_compressed_isInflatedAsItComes() {
        byte[] plain = new byte[1 << 19];
        ByteBuf framed = framed(1, Compressed.GZIP.of(plain));
        int begun = framed.readableBytes() - 8;
        var inflating = new GrpcDeframer(ByteBufAllocator.DEFAULT, plain.length, ContentCoding.GZIP);
        inflating.add(framed.readRetainedSlice(begun));
        assertThat(inflating.next()).isNull();
        assertThat(inflating.bytes()).isGreaterThanOrEqualTo(plain.length);
        assertThat(inflating.open(0)).isEqualTo(GrpcDeframer.NOT_OPENED);
        assertThat(inflating.partial()).isTrue();
        inflating.add(framed);
        assertThat(taken(inflating)).containsExactly(plain);
        assertThat(inflating.bytes()).isZero();
        assertThat(inflating.partial()).isFalse();
        inflating.release();
    }

    @Test
    void message_compressed_splitAnywhere_isTheSame() {
        byte[] plain = random(3000, 7);
        ByteBuf framed = framed(1, Compressed.GZIP.of(plain));
        byte[] data = ByteBufUtil.getBytes(framed);
        framed.release();
        for (int at = 1; at < data.length; at += 13) {
            var inflating = new GrpcDeframer(ByteBufAllocator.DEFAULT, 4000, ContentCoding.GZIP);
            inflating.add(Unpooled.copiedBuffer(data, 0, at));
            assertThat(inflating.next()).isNull();
            inflating.add(Unpooled.copiedBuffer(data, at, data.length - at));
            inflating.add(framed(1, Compressed.GZIP.of(plain)));
            assertThat(taken(inflating)).containsExactly(plain, plain);
            inflating.release();
        }
    }

    @Test
    void message_compressed_thatDoesNotEnd_isGivenBack() {
        ByteBuf framed = framed(1, Compressed.GZIP.of(random(3000, 7)));
        var inflating = new GrpcDeframer(ByteBufAllocator.DEFAULT, 4000, ContentCoding.GZIP);
        inflating.add(framed.writerIndex(1000));
        assertThat(inflating.next()).isNull();
        inflating.release();
    }

    @Test
    void message_thatBecomesTooLarge_isRefused() {
        var inflating = new GrpcDeframer(ByteBufAllocator.DEFAULT, LIMIT, ContentCoding.GZIP);
        inflating.add(framed(1, Compressed.GZIP.of(new byte[LIMIT + 1])));
        assertThat(catchThrowableOfType(OipException.class, inflating::next).code())
                .isEqualTo(ErrorCode.PAYLOAD_TOO_LARGE);
        inflating.release();
    }

    @Test
    void data_thatIsNotAllOfAMessage_isPartial() {
        deframer.add(framed(0, random(100, 1)).writerIndex(50));
        assertThat(deframer.next()).isNull();
        assertThat(deframer.partial()).isTrue();
    }

    @Test
    void message_incomplete_isAnnounced_untilItIsTaken() {
        ByteBuf data = framed(0, random(100, 1));
        assertThat(deframer.announced()).isZero();
        deframer.add(data.readRetainedSlice(4));
        assertThat(deframer.next()).isNull();
        assertThat(deframer.announced()).isZero();
        deframer.add(data.readRetainedSlice(100));
        assertThat(deframer.next()).isNull();
        assertThat(deframer.announced()).isEqualTo(100);
        assertThat(deframer.bytes()).isEqualTo(104);
        deframer.add(data);
        assertThat(taken(deframer)).containsExactly(random(100, 1));
        assertThat(deframer.announced()).isZero();
        assertThat(deframer.bytes()).isZero();
    }

    @Test
    void message_open_isTakenInPartsOfAtMostThisSize() {
        ByteBuf data = framed(0, random(100, 1));
        deframer.add(data.readRetainedSlice(15));
        deframer.open(LEAST);
        for (int from = 0; from < 10; from += 5) {
            ByteBuf part = Objects.requireNonNull(deframer.part(5));
            assertThat(part).isEqualTo(Unpooled.wrappedBuffer(random(100, 1), from, 5));
            part.release();
        }
        assertThat(deframer.part(5)).isNull();
        assertThat(deframer.missing()).isEqualTo(90);
        data.release();
    }

    /** The messages of data split at this index; opened messages in parts, the others whole. */
    private List<byte[]> takenOpen(ByteBuf data, int first, int second) {
        List<byte[]> found = new ArrayList<>();
        ByteBuf opened = Unpooled.buffer();
        for (int length : new int[] {first, second - first, data.readableBytes() - second}) {
            deframer.add(data.readRetainedSlice(length));
            takeOpen(opened, found);
        }
        data.release();
        return found;
    }

    private void takeOpen(ByteBuf opened, List<byte[]> found) {
        boolean more = true;
        while (more) {
            boolean open = deframer.missing() > 0 || deframer.open(LEAST) > 0;
            more = open ? takePart(opened, found) : takeWhole(found);
        }
    }

    private boolean takePart(ByteBuf opened, List<byte[]> found) {
        ByteBuf part = deframer.part();
        if (part == null) {
            return false;
        }
        opened.writeBytes(part);
        part.release();
        if (deframer.missing() == 0) {
            found.add(ByteBufUtil.getBytes(opened));
            opened.clear();
        }
        return true;
    }

    private boolean takeWhole(List<byte[]> found) {
        ByteBuf message = deframer.next();
        if (message == null) {
            return false;
        }
        found.add(ByteBufUtil.getBytes(message));
        message.release();
        return true;
    }

    @Test
    void messages_thatAreOpenedAtAnySplit_areTheSame() {
        byte[][] messages = {random(30, 1), random(LEAST, 2), new byte[0], random(LEAST + 1, 3)};
        int length = framedLength(messages);
        for (int first = 0; first <= length; first++) {
            for (int second = first; second <= length; second++) {
                assertThat(takenOpen(framed(0, messages), first, second))
                        .as("split at %d and %d", first, second)
                        .containsExactly(messages);
                assertThat(deframer.partial()).isFalse();
            }
        }
    }

    private static int framedLength(byte[]... messages) {
        ByteBuf data = framed(0, messages);
        int length = data.readableBytes();
        data.release();
        return length;
    }

    @Test
    void message_open_isTakenAsItComes() {
        ByteBuf data = framed(0, random(100, 1));
        deframer.add(data.readRetainedSlice(10));
        assertThat(deframer.open(LEAST)).isEqualTo(100);
        assertThat(deframer.next()).isNull();
        ByteBuf part = Objects.requireNonNull(deframer.part());
        assertThat(part).isEqualTo(Unpooled.wrappedBuffer(random(100, 1), 0, 5));
        part.release();
        assertThat(deframer.missing()).isEqualTo(95);
        assertThat(deframer.part()).isNull();
        data.release();
    }

    @Test
    void message_open_leavesWhatFollowsIt() {
        ByteBuf data = framed(0, random(100, 1), random(7, 2));
        deframer.add(data.readRetainedSlice(50));
        deframer.open(LEAST);
        deframer.add(data);
        Objects.requireNonNull(deframer.part()).release();
        assertThat(deframer.missing()).isZero();
        assertThat(deframer.part()).isNull();
        assertThat(taken(deframer)).containsExactly(random(7, 2));
    }

    @Test
    void message_openAndNotComplete_isPartial() {
        deframer.add(framed(0, random(100, 1)).writerIndex(50));
        deframer.open(LEAST);
        Objects.requireNonNull(deframer.part()).release();
        assertThat(deframer.partial()).isTrue();
    }

    @Test
    void message_thatIsSmall_isNotOpened() {
        deframer.add(framed(0, random(LEAST, 1)).writerIndex(10));
        assertThat(deframer.open(LEAST)).isEqualTo(GrpcDeframer.NOT_OPENED);
    }

    @Test
    void message_thatIsComplete_isNotOpened() {
        deframer.add(framed(0, random(100, 1)));
        assertThat(deframer.open(LEAST)).isEqualTo(GrpcDeframer.NOT_OPENED);
        assertThat(taken(deframer)).containsExactly(random(100, 1));
    }

    @Test
    void message_compressed_isNotOpened() {
        var inflating = new GrpcDeframer(ByteBufAllocator.DEFAULT, LIMIT, ContentCoding.GZIP);
        inflating.add(framed(1, random(100, 1)).writerIndex(50));
        assertThat(inflating.open(LEAST)).isEqualTo(GrpcDeframer.NOT_OPENED);
        inflating.release();
    }

    @Test
    void message_tooLargeToBeOpened_isRefused() {
        deframer.add(ByteBufAllocator.DEFAULT.buffer().writeByte(0).writeInt(LIMIT + 1));
        assertThat(catchThrowableOfType(OipException.class, () -> deframer.open(LEAST))
                        .code())
                .isEqualTo(ErrorCode.PAYLOAD_TOO_LARGE);
    }
}
