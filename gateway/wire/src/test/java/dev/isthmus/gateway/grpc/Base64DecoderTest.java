package dev.isthmus.gateway.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class Base64DecoderTest {
    private static final ByteBufAllocator ALLOCATOR = ByteBufAllocator.DEFAULT;

    private static byte[] decode(Base64Decoder decoder, byte[] text, int from, int to) {
        ByteBuf decoded = decoder.decode(Unpooled.copiedBuffer(text, from, to - from));
        byte[] bytes = ByteBufUtil.getBytes(decoded);
        decoded.release();
        return bytes;
    }

    private static byte[] random(int length) {
        byte[] bytes = new byte[length];
        new Random(length).nextBytes(bytes);
        return bytes;
    }

    private static String encode(byte[] bytes) {
        ByteBuf text = Base64Encoder.encode(Unpooled.copiedBuffer(bytes), ALLOCATOR);
        String encoded = text.toString(StandardCharsets.US_ASCII);
        text.release();
        return encoded;
    }

    @Test
    void text_splitAtEveryByte() {
        for (int length = 0; length < 24; length++) {
            byte[] bytes = random(length);
            byte[] text = Base64.getEncoder().encode(bytes);
            for (int split = 0; split <= text.length; split++) {
                Base64Decoder decoder = new Base64Decoder(ALLOCATOR);
                ByteArrayOutputStream all = new ByteArrayOutputStream();
                all.writeBytes(decode(decoder, text, 0, split));
                assertThat(decoder.partial()).isEqualTo(split % 4 != 0);
                all.writeBytes(decode(decoder, text, split, text.length));
                assertThat(decoder.partial()).isFalse();
                assertThat(all.toByteArray()).as("%d of %d", split, length).isEqualTo(bytes);
            }
        }
    }

    @Test
    void joinedTexts_splitAtEveryTwoBytes() {
        byte[] bytes = random(31);
        // Padding of two, one and no characters, in the middle and at the end.
        String joined = "";
        int from = 0;
        for (int length : new int[] {1, 2, 3, 4, 5, 6, 10}) {
            joined += Base64.getEncoder().encodeToString(Arrays.copyOfRange(bytes, from, from + length));
            from += length;
        }
        byte[] text = joined.getBytes(StandardCharsets.US_ASCII);
        for (int first = 0; first <= text.length; first++) {
            for (int second = first; second <= text.length; second++) {
                Base64Decoder decoder = new Base64Decoder(ALLOCATOR);
                ByteArrayOutputStream all = new ByteArrayOutputStream();
                all.writeBytes(decode(decoder, text, 0, first));
                all.writeBytes(decode(decoder, text, first, second));
                all.writeBytes(decode(decoder, text, second, text.length));
                assertThat(all.toByteArray()).isEqualTo(bytes);
            }
        }
    }

    @Test
    void everyByteValue_roundTrips() {
        byte[] bytes = new byte[256 * 3];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) (i / 3 + i);
        }
        byte[] text = encode(bytes).getBytes(StandardCharsets.US_ASCII);
        assertThat(decode(new Base64Decoder(ALLOCATOR), text, 0, text.length)).isEqualTo(bytes);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3, 4, 6143, 6144, 6145, 12287, 12288, 12289, 100_000})
    void encoder_encodesAsTheJdkDoes(int length) {
        byte[] bytes = random(length);
        assertThat(encode(bytes)).isEqualTo(Base64.getEncoder().encodeToString(bytes));
        assertThat(Base64Encoder.length(length)).isEqualTo(encode(bytes).length());
    }

    @Test
    void parts_ofACompositeBuffer() {
        byte[] text = Base64.getEncoder().encode(random(50));
        ByteBuf parts = Unpooled.wrappedBuffer(
                Unpooled.copiedBuffer(text, 0, 3),
                Unpooled.copiedBuffer(text, 3, 10),
                Unpooled.copiedBuffer(text, 13, text.length - 13));
        ByteBuf decoded = new Base64Decoder(ALLOCATOR).decode(parts);
        assertThat(ByteBufUtil.getBytes(decoded)).isEqualTo(random(50));
        decoded.release();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"=AAA", "A=AA", "AA=A", "AAA A", "AA\nAA", "AAA-", "AAA_", "AA==A=AA", "====", "AAAA\u00e9AAA"})
    void otherText_isRefused_howeverItIsSplit(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.ISO_8859_1);
        for (int i = 0; i <= bytes.length; i++) {
            int split = i;
            Base64Decoder decoder = new Base64Decoder(ALLOCATOR);
            assertThatThrownBy(() -> {
                        decode(decoder, bytes, 0, split);
                        decode(decoder, bytes, split, bytes.length);
                    })
                    .isInstanceOf(OipException.class)
                    .hasMessageContaining("base64 is expected");
        }
    }
}
