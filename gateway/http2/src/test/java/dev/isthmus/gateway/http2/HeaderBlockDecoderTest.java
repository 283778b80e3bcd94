package dev.isthmus.gateway.http2;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.DefaultHttp2HeadersEncoder;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Blocks are decoded as by Netty, and repeated ones only once. */
class HeaderBlockDecoderTest {
    private final HeaderBlockDecoder blocks = new HeaderBlockDecoder(16_384, 100);

    private Http2Headers decode(ByteBuf block) {
        return blocks.decode(1, block, block.readableBytes()).headers();
    }

    private Http2Headers decode(String hex) {
        return decode(RawFrames.hex(hex));
    }

    @Test
    void sameBlock_isDecodedOnce() {
        decode(RawFrames.REQUEST);
        Http2Headers second = decode(RawFrames.REQUEST);

        assertThat(decode(RawFrames.REQUEST)).isSameAs(second);
        assertThat(second.path()).hasToString("/");
    }

    @Test
    void fieldsWithoutALimit_areTaken() {
        HeaderBlockDecoder any = new HeaderBlockDecoder(16_384, Integer.MAX_VALUE);
        ByteBuf block = RawFrames.hex("828684" + "0001610162".repeat(200));

        assertThat(any.decode(1, block, block.readableBytes()).headers()).hasSize(203);
    }

    @Test
    void blockInsideOtherBytes_isFound() {
        decode(RawFrames.REQUEST);
        Http2Headers second = decode(RawFrames.REQUEST);
        ByteBuf in = RawFrames.hex("ffff" + RawFrames.REQUEST + "ffff").readerIndex(2);

        assertThat(blocks.decode(1, in, 3).headers()).isSameAs(second);
        assertThat(in.writerIndex()).isEqualTo(7);
    }

    @Test
    void fieldThatEntersTheTable_changesWhatReferencesMean() {
        decode("40016101" + "31");
        for (int i = 0; i < 3; i++) {
            assertThat(decode("be").get("a")).hasToString("1");
        }
        decode("40016201" + "32");
        for (int i = 0; i < 3; i++) {
            assertThat(decode("be").get("b")).hasToString("2");
            assertThat(decode("bf").get("a")).hasToString("1");
        }
    }

    @Test
    void tableThatIsEmptied_forgetsReferences() {
        decode("40016101" + "31");
        decode("be");
        decode("be");
        decode("20" + "83");

        assertThatThrownBy(() -> decode("be")).isInstanceOf(Http2Violation.class);
    }

    @Test
    void entryThatEvictsOthers_forgetsReferences() {
        decode("40016101" + "31");
        decode("be");
        decode("be");
        decode(Unpooled.wrappedBuffer(RawFrames.hex("400162" + "7fd11e"), RawFrames.hex("61".repeat(4048))));

        assertThatThrownBy(() -> decode("bf")).isInstanceOf(Http2Violation.class);
    }

    @Test
    void malformedBlock_isNotKept() {
        for (int i = 0; i < 4; i++) {
            assertThat(blocks.decode(1, RawFrames.hex("8386"), 2).isWellFormed())
                    .isFalse();
        }
    }

    @Test
    void randomBlocks_areDecodedAsNettyDoes() throws Exception {
        for (int seed = 0; seed < 60; seed++) {
            Random random = new Random(seed);
            HeaderBlockDecoder ours = new HeaderBlockDecoder(16_384, 100);
            DefaultHttp2HeadersDecoder theirs = new DefaultHttp2HeadersDecoder(true, true, 16_384);
            DefaultHttp2HeadersEncoder encoder =
                    new DefaultHttp2HeadersEncoder((name, value) -> name.length() % 3 == 0);
            for (int i = 0; i < 300; i++) {
                if (random.nextInt(40) == 0) {
                    encoder.configuration().maxHeaderTableSize(random.nextInt(4097));
                }
                ByteBuf block = Unpooled.buffer();
                encoder.encodeHeaders(1, fields(random), block);
                compare(ours, theirs, block);
                if (random.nextBoolean()) {
                    // A block without references may be repeated at any time.
                    compare(ours, theirs, RawFrames.block("x-" + random.nextInt(3), "y"));
                }
            }
        }
    }

    private static Http2Headers fields(Random random) {
        Http2Headers headers = new DefaultHttp2Headers(false);
        for (int i = random.nextInt(6); i >= 0; i--) {
            int name = random.nextInt(5);
            int length = random.nextInt(20) == 0 ? 1500 : name;
            headers.add("n".repeat(1 + name), "v".repeat(length) + random.nextInt(2));
        }
        return headers;
    }

    private static void compare(HeaderBlockDecoder ours, DefaultHttp2HeadersDecoder theirs, ByteBuf block)
            throws Exception {
        Http2Headers got =
                ours.decode(1, block.duplicate(), block.readableBytes()).headers();
        assertThat(got).isEqualTo(theirs.decodeHeaders(1, block.duplicate()));
    }

    @Test
    void brokenBlocks_failAsWithNetty() {
        Random random = new Random(7);
        for (int i = 0; i < 3000; i++) {
            byte[] bytes = new byte[1 + random.nextInt(30)];
            random.nextBytes(bytes);
            HeaderBlockDecoder ours = new HeaderBlockDecoder(16_384, 100);
            boolean scanned = HeaderBlockDecoder.HeaderBlockScanner.keepsDynamicTable(
                    Unpooled.wrappedBuffer(bytes), 0, bytes.length);
            String first = outcome(ours, bytes);
            if (scanned) {
                assertThat(outcome(ours, bytes)).isEqualTo(first);
                assertThat(outcome(ours, bytes)).isEqualTo(first);
            }
            assertThat(first.equals("violation")).isEqualTo(nettyFails(bytes));
        }
    }

    private static String outcome(HeaderBlockDecoder blocks, byte[] bytes) {
        try {
            return blocks.decode(1, Unpooled.wrappedBuffer(bytes), bytes.length).toString();
        } catch (Http2Violation e) {
            return "violation";
        }
    }

    private static boolean nettyFails(byte[] bytes) {
        try {
            new DefaultHttp2HeadersDecoder(true, true, 16_384).decodeHeaders(1, Unpooled.wrappedBuffer(bytes));
            return false;
        } catch (Http2Exception e) {
            return !Http2Exception.isStreamError(e);
        }
    }
}
