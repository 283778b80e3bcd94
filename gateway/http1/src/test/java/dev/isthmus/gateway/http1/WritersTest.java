package dev.isthmus.gateway.http1;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.gateway.http1.HeadWriter.ChunkWriter;
import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.util.AsciiString;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is written can be read in one way only. */
class WritersTest {
    private static final ByteBufAllocator ALLOCATOR = ByteBufAllocator.DEFAULT;

    private static String text(ByteBuf written) {
        String text = written.toString(StandardCharsets.ISO_8859_1);
        written.release();
        return text;
    }

    @Test
    void request_isWrittenWithItsBody() {
        ByteBuf body = Unpooled.copiedBuffer("ab", StandardCharsets.US_ASCII);
        HeadWriter head =
                HeadWriter.request("POST", "/v2?x=1").field("host", "a").contentLength(2);
        assertThat(text(head.end(ALLOCATOR, body)))
                .isEqualTo("POST /v2?x=1 HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nab");
        assertThat(body.readableBytes()).isEqualTo(2);
        body.release();
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 9, 10, 1_000, 409_600, Long.MAX_VALUE})
    void lengths_areWrittenInFull(long bytes) {
        HeadWriter head = HeadWriter.request("POST", "/").contentLength(bytes);
        assertThat(text(head.end(ALLOCATOR))).isEqualTo("POST / HTTP/1.1\r\ncontent-length: " + bytes + "\r\n\r\n");
    }

    @Test
    void partOfAnAsciiString_isWrittenAsAText() {
        HeadWriter head = HeadWriter.request("GET", "/").field("x", new AsciiString("abcde").subSequence(1, 4, false));
        assertThat(text(head.end(ALLOCATOR))).isEqualTo("GET / HTTP/1.1\r\nx: bcd\r\n\r\n");
    }

    @Test
    void response_isWritten() {
        HeadWriter head = HeadWriter.of("HTTP/1.1 200 OK\r\n".getBytes(StandardCharsets.US_ASCII))
                .chunked()
                .field("x", "\te\u00e4\u20ac")
                .close();
        assertThat(text(head.end(ALLOCATOR)))
                .isEqualTo(
                        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nx: \te\u00e4?\r\nconnection: close\r\n\r\n");
    }

    /** A thread writes all heads to the same memory. */
    @Test
    void head_hasNothingOfOneThatWasNotEnded() {
        HeadWriter.request("POST", "/other").field("x", "y".repeat(400));
        assertThat(text(HeadWriter.request("GET", "/").end(ALLOCATOR))).isEqualTo("GET / HTTP/1.1\r\n\r\n");
    }

    @Test
    void head_mayBeLong() {
        HeadWriter head = HeadWriter.request("GET", "/" + "a".repeat(1000));
        for (int i = 0; i < 100; i++) {
            head.field("x-" + i, "b".repeat(100));
        }
        assertThat(text(head.end(ALLOCATOR))).hasSizeGreaterThan(11_000).endsWith("b\r\n\r\n");
    }

    @ParameterizedTest
    @ValueSource(strings = {"a\r\nb: c", "a\nb", "a\rb", "a\0b", "a\u007fb", "a\u0001"})
    void fieldValue_thatIsMoreThanOne_isRefused(String value) {
        HeadWriter head = HeadWriter.request("GET", "/");
        assertThatThrownBy(() -> head.field("x", value))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("header field x: a value without control characters is expected");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "a b", "a:", "a\r\nb", "a\0", "\u00e4", "a(", "\u0141"})
    void fieldName_thatIsNoToken_isRefused(String name) {
        HeadWriter head = HeadWriter.request("GET", "/");
        assertThatThrownBy(() -> head.field(name, "a")).isInstanceOf(IllegalArgumentException.class);
    }

    @ParameterizedTest
    @ValueSource(strings = {"/a b", "/a\r\n", "/\t", "/\u00e4", "/\0", "/\u0120"})
    void target_thatIsMoreThanOneWord_isRefused(String target) {
        assertThatThrownBy(() -> HeadWriter.request("GET", target)).isInstanceOf(IllegalArgumentException.class);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 15, 16, 1023, 1024, 1025, 70_000})
    void chunks_areReadAgain(int length) {
        ByteBuf sent = Unpooled.buffer();
        byte[] body = "x".repeat(length).getBytes(StandardCharsets.US_ASCII);
        sent.writeCharSequence("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", StandardCharsets.US_ASCII);
        for (int i = 0; i < 2; i++) {
            ChunkWriter.chunk(ALLOCATOR, Unpooled.wrappedBuffer(body), part -> {
                sent.writeBytes(part);
                part.release();
            });
        }
        ChunkWriter.chunk(ALLOCATOR, Unpooled.buffer(1), part -> part.release());
        sent.writeBytes(ChunkWriter.last());
        byte[] bytes = new byte[sent.readableBytes()];
        sent.readBytes(bytes).release();
        ResponseParser parser = new ResponseParser(new HeadLimits("status line", 100, 100, 10), 1 << 20);
        assertThat(MessageTexts.read(parser, () -> "", bytes, 0)).isEqualTo("[" + "x".repeat(2 * length) + "]");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 70_000})
    void chunk_withoutMemory_isReleased(int length) {
        ByteBufAllocator exhausted = new AbstractByteBufAllocator() {
            @Override
            protected ByteBuf newHeapBuffer(int initial, int most) {
                throw new OutOfMemoryError("of the heap");
            }

            @Override
            protected ByteBuf newDirectBuffer(int initial, int most) {
                throw new OutOfMemoryError("of memory outside the heap");
            }

            @Override
            public boolean isDirectBufferPooled() {
                return false;
            }
        };
        ByteBuf part = Unpooled.buffer(length).writeZero(length);
        assertThatThrownBy(() -> ChunkWriter.chunk(exhausted, part, ByteBuf::release))
                .isInstanceOf(OutOfMemoryError.class);
        assertThat(part.refCnt()).isZero();
    }
}
