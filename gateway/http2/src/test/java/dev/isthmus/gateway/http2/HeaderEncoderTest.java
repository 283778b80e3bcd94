package dev.isthmus.gateway.http2;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Netty decodes what we encode. */
class HeaderEncoderTest {
    private final HeaderEncoder encoder = new HeaderEncoder();
    private final DefaultHttp2HeadersDecoder decoder = new DefaultHttp2HeadersDecoder(false, false, 1 << 20);

    private ByteBuf encode(HeaderFieldList fields) {
        int length = encoder.encode(fields);
        ByteBuf block = Unpooled.copiedBuffer(encoder.block(), 0, length);
        encoder.clear();
        return block;
    }

    private List<String> decode(ByteBuf block) throws Exception {
        List<String> lines = new ArrayList<>();
        decoder.decodeHeaders(1, block).forEach(each -> lines.add(each.getKey() + "=" + each.getValue()));
        return lines;
    }

    @Test
    void constants_takeAByteFromTheSecondTimeOn() throws Exception {
        HeaderFieldList fields = BothRolesTest.HEAD.with(HeaderField.constant("content-type", "application/grpc"));

        List<String> first = decode(encode(fields));
        ByteBuf second = encode(fields);

        assertThat(second.readableBytes()).isEqualTo(5);
        assertThat(decode(second)).isEqualTo(first);
        assertThat(first).contains(":path=/echo", "content-type=application/grpc");
    }

    @Test
    void secrets_areNeverIndexed() {
        assertThat(ByteBufUtil.hexDump(encode(HeaderFieldList.of(HeaderField.secret("authorization", "a")))))
                .isEqualTo("1f080161");
        assertThat(ByteBufUtil.hexDump(encode(HeaderFieldList.of(HeaderField.of("authorization", "a")))))
                .isEqualTo("0f080161");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 50, 300, 4096})
    void randomFields_areDecoded(int tableSize) throws Exception {
        for (int seed = 0; seed < 30; seed++) {
            Random random = new Random(seed);
            HeaderEncoderTest fresh = new HeaderEncoderTest();
            fresh.tableSize(tableSize);
            for (int i = 0; i < 200; i++) {
                if (random.nextInt(50) == 0) {
                    fresh.tableSize(random.nextBoolean() ? tableSize : random.nextInt(10_000));
                }
                fresh.checkOne(random);
            }
        }
    }

    private void tableSize(int size) throws Exception {
        decoder.configuration().maxHeaderTableSize(size);
        encoder.peerTableSize(size);
    }

    private void checkOne(Random random) throws Exception {
        List<String> expected = new ArrayList<>();
        HeaderFieldList fields = HeaderFieldList.of();
        for (int i = random.nextInt(8); i > 0; i--) {
            int n = random.nextInt(120);
            String name = n < 10 ? "content-type" : "name-" + n;
            String value = "v".repeat(n == 50 ? 3000 : n % 40) + n % 3;
            fields = fields.with(
                    switch (random.nextInt(4)) {
                        case 0 -> HeaderField.of(name, value);
                        case 1 -> HeaderField.secret(name, value);
                        default -> HeaderField.constant(name, value);
                    });
            expected.add(name + "=" + value);
        }
        List<String> decoded = decode(encode(fields));
        // Netty groups the values of a name.
        assertThat(decoded).containsExactlyInAnyOrderElementsOf(expected);
    }

    @Test
    void smallerThenLargerTableBeforeABlock_isSaid_rfc7541_4_2() throws Exception {
        HeaderFieldList fields = HeaderFieldList.of(HeaderField.constant("a", "b"));
        decode(encode(fields));
        tableSize(0);
        tableSize(4096);

        assertThat(decode(encode(fields))).containsExactly("a=b");
        assertThat(decode(encode(fields))).containsExactly("a=b");
    }

    @Test
    void constantsSentAgain_areDecoded_whateverWasAddedInBetween() throws Exception {
        HeaderFieldList fields = HeaderFieldList.of(HeaderField.constant("a", "b"), HeaderField.constant("c", "d"));
        List<HeaderFieldList> others = Stream.iterate(0, i -> i + 1)
                .limit(10)
                .map(i -> HeaderFieldList.of(HeaderField.constant("other", "o" + i))
                        .with("own", "x"))
                .toList();
        for (HeaderFieldList other : others) {
            for (int i = 0; i < 3; i++) {
                assertThat(decode(encode(fields))).containsExactly("a=b", "c=d");
            }
            assertThat(decode(encode(other))).hasSize(2).contains("own=x");
        }
        tableSize(0);
        assertThat(decode(encode(fields))).containsExactly("a=b", "c=d");
        assertThat(encode(fields).readableBytes()).isEqualTo(10);
    }

    @Test
    void longAndShortBlocks_areDecodedInAnyOrder() throws Exception {
        HeaderFieldList large = HeaderFieldList.of().with("large", "v".repeat(5000));
        HeaderFieldList small = HeaderFieldList.of().with("small", "v");
        for (HeaderFieldList each : List.of(small, large, small, large, large, small)) {
            assertThat(decode(encode(each))).hasSize(1).first().asString().endsWith("v");
        }
    }

    @Test
    void fieldThatWouldBreakTheMessage_isNotMade() {
        assertThatThrownBy(() -> HeaderField.of("Upper", "a")).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> HeaderField.of("", "a")).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> HeaderField.of("a b", "a")).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> HeaderField.of("a", "b\r\nc: d")).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> HeaderField.of("a", "\0")).isInstanceOf(IllegalArgumentException.class);
    }
}
