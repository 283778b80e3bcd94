package dev.isthmus.gateway.tls;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.tls.ClientHelloHandler.OfferedProtocols;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

/** ALPN in a ClientHello that is written byte by byte. */
class OfferedProtocolsTest {
    private static final List<String> SERVED = List.of("h2", "http/1.1");
    private static final int SERVER_NAME = 0;
    private static final int ALPN = 16;

    /** A ClientHello with a session id of this length and these extensions. */
    private static ByteBuf hello(int session, ByteBuf... extensions) {
        ByteBuf all = Unpooled.wrappedBuffer(extensions);
        return Unpooled.buffer()
                .writeShort(0x0303)
                .writeZero(32)
                .writeByte(session)
                .writeZero(session)
                .writeShort(4)
                .writeInt(0x13011302)
                .writeByte(1)
                .writeByte(0)
                .writeShort(all.readableBytes())
                .writeBytes(all);
    }

    private static ByteBuf extension(int type, ByteBuf data) {
        return Unpooled.buffer()
                .writeShort(type)
                .writeShort(data.readableBytes())
                .writeBytes(data);
    }

    private static ByteBuf alpn(String... names) {
        ByteBuf list = Unpooled.buffer();
        for (String name : names) {
            list.writeByte(name.length()).writeCharSequence(name, StandardCharsets.US_ASCII);
        }
        return extension(
                ALPN, Unpooled.buffer().writeShort(list.readableBytes()).writeBytes(list));
    }

    @Test
    void oneOfSeveral_isEnough() {
        assertThat(OfferedProtocols.includeOneOf(hello(0, alpn("spdy/3", "h2")), SERVED))
                .isTrue();
        assertThat(OfferedProtocols.includeOneOf(hello(32, alpn("http/1.1")), SERVED))
                .isTrue();
    }

    @Test
    void othersOnly_areNot() {
        assertThat(OfferedProtocols.includeOneOf(hello(32, alpn("spdy/3", "h2c", "h")), SERVED))
                .isFalse();
    }

    @Test
    void extensionsBefore_areSkipped() {
        ByteBuf name = extension(SERVER_NAME, Unpooled.copiedBuffer("h2 is no host", StandardCharsets.US_ASCII));
        assertThat(OfferedProtocols.includeOneOf(hello(0, name, alpn("other")), SERVED))
                .isFalse();
    }

    @Test
    void clientWithoutAlpn_isServed() {
        assertThat(OfferedProtocols.includeOneOf(hello(0), SERVED)).isTrue();
        ByteBuf name = extension(SERVER_NAME, Unpooled.buffer().writeZero(9));
        assertThat(OfferedProtocols.includeOneOf(hello(0, name), SERVED)).isTrue();
    }

    /** TLS itself refuses it, with the right alert. */
    @Test
    void truncatedAnywhere_isLeftToTls() {
        ByteBuf whole = hello(32, alpn("spdy/3"));
        for (int length = 0; length < whole.readableBytes(); length++) {
            assertThat(OfferedProtocols.includeOneOf(whole.slice(0, length), SERVED))
                    .as("%d bytes", length)
                    .isTrue();
        }
    }

    @Test
    void hello_isNotConsumed() {
        ByteBuf hello = hello(0, alpn("h2"));
        int length = hello.readableBytes();
        OfferedProtocols.includeOneOf(hello, SERVED);
        assertThat(hello.readableBytes()).isEqualTo(length);
    }
}
