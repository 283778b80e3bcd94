package dev.isthmus.gateway.coding;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.zip.Deflater;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class ContentCodingTest {
    private static final String TEXT = "{\"inputs\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,2]}";
    private static final long LIMIT = 1 << 20;

    private static InflationLimits limits(long bytes) {
        return new InflationLimits(bytes, InflationLimits.DEFAULT_RATIO);
    }

    private static ContentCoding coding(Compressed form) {
        ContentCoding coding = ContentCoding.of(form.token());
        if (coding == null) {
            throw new AssertionError(form + " is not known");
        }
        return coding;
    }

    private static byte[] decode(Compressed form, byte[] compressed, long limit, int... splits) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ContentInflater decoder = coding(form).decoder(ByteBufAllocator.DEFAULT, limits(limit));
        try {
            int from = 0;
            for (int split : splits) {
                add(decoder, Unpooled.copiedBuffer(compressed, from, split - from), part -> append(out, part));
                from = split;
            }
            add(decoder, Unpooled.copiedBuffer(compressed, from, compressed.length - from), part -> append(out, part));
            decoder.finish();
            return out.toByteArray();
        } finally {
            decoder.release();
            decoder.release();
        }
    }

    private static void add(ContentInflater decoder, ByteBuf part, Consumer<ByteBuf> out) {
        decoder.add(part);
        decoder.decode(() -> true, out);
    }

    private static void append(ByteArrayOutputStream out, ByteBuf part) {
        out.writeBytes(ByteBufUtil.getBytes(part));
        part.release();
    }

    private static void expectMalformed(Compressed form, byte[] compressed, int... splits) {
        OipException failure = catchThrowableOfType(OipException.class, () -> decode(form, compressed, LIMIT, splits));
        assertThat(failure).as("%s at %s", form, Arrays.toString(splits)).isNotNull();
        assertThat(failure.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT);
        assertThat(failure.message()).startsWith("malformed compressed content");
    }

    @ParameterizedTest
    @EnumSource
    void content_isDecoded_howeverItIsSplit(Compressed form) {
        byte[] compressed = form.of(TEXT);
        byte[] plain = TEXT.getBytes(StandardCharsets.UTF_8);
        for (int i = 0; i <= compressed.length; i++) {
            for (int j = i; j <= compressed.length; j++) {
                assertThat(decode(form, compressed, LIMIT, i, j)).isEqualTo(plain);
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void content_ofNoBytes_andLarge_isDecoded(Compressed form) {
        assertThat(decode(form, form.of(""), LIMIT)).isEmpty();
        byte[] random = new byte[300_000];
        new Random(7).nextBytes(random);
        assertThat(decode(form, form.of(random), LIMIT)).isEqualTo(random);
        byte[] zeros = new byte[300_000];
        assertThat(decode(form, form.of(zeros), 300_000)).isEqualTo(zeros);
    }

    @ParameterizedTest
    @EnumSource
    void content_beyondTheLimit_isRefused_withoutBeingDecoded(Compressed form) {
        for (int size : new int[] {1001, 300_000, 32 << 20}) {
            byte[] bomb = form.of(new byte[size]);
            AtomicLong seen = new AtomicLong();
            ContentInflater decoder = coding(form).decoder(ByteBufAllocator.DEFAULT, limits(1000));
            OipException failure = catchThrowableOfType(
                    OipException.class,
                    () -> add(decoder, Unpooled.wrappedBuffer(bomb), part -> {
                        seen.addAndGet(part.readableBytes());
                        part.release();
                    }));
            decoder.release();
            assertThat(failure.code()).isEqualTo(ErrorCode.PAYLOAD_TOO_LARGE);
            assertThat(seen.get()).isLessThanOrEqualTo(1000);
        }
    }

    @ParameterizedTest
    @EnumSource
    void content_beyondTheRatio_isRefused_beforeItIsDecoded(Compressed form) {
        byte[] bomb = form.of(new byte[32 << 20]);
        AtomicLong seen = new AtomicLong();
        OipException failure = catchThrowableOfType(
                OipException.class, () -> inflate(form, bomb, new InflationLimits(64 << 20, 100), seen));
        assertThat(failure.code()).isEqualTo(ErrorCode.PAYLOAD_TOO_LARGE);
        assertThat(failure.message()).contains("at most 100 bytes are accepted for each compressed one");
        assertThat(seen.get()).isLessThanOrEqualTo(100L * bomb.length);
        inflate(form, bomb, new InflationLimits(64 << 20, 2000), seen);
    }

    @ParameterizedTest
    @EnumSource
    void content_small_mayHaveAnyRatio(Compressed form) {
        AtomicLong seen = new AtomicLong();
        inflate(form, form.of(new byte[1 << 20]), new InflationLimits(64 << 20, 100), seen);
        assertThat(seen).hasValue(1 << 20);
    }

    private static void inflate(Compressed form, byte[] compressed, InflationLimits limits, AtomicLong seen) {
        ContentInflater decoder = coding(form).decoder(ByteBufAllocator.DEFAULT, limits);
        try {
            add(decoder, Unpooled.wrappedBuffer(compressed), part -> {
                seen.addAndGet(part.readableBytes());
                part.release();
            });
            decoder.finish();
        } finally {
            decoder.release();
        }
    }

    @ParameterizedTest
    @EnumSource
    void content_cutShort_isRefused(Compressed form) {
        byte[] compressed = form.of(TEXT);
        for (int length = 1; length < compressed.length; length++) {
            byte[] cut = Arrays.copyOf(compressed, length);
            expectMalformed(form, cut);
            expectMalformed(form, cut, length / 2);
        }
    }

    @ParameterizedTest
    @EnumSource
    void content_withSomethingBehind_isRefused(Compressed form) {
        byte[] compressed = form.of(TEXT);
        for (String behind : new String[] {"x", "\0", "garbage that is longer than a header", "\u001f"}) {
            byte[] tail = behind.getBytes(StandardCharsets.US_ASCII);
            byte[] all = Arrays.copyOf(compressed, compressed.length + tail.length);
            System.arraycopy(tail, 0, all, compressed.length, tail.length);
            expectMalformed(form, all);
            expectMalformed(form, all, compressed.length);
            expectMalformed(form, all, compressed.length - 1);
        }
    }

    @Test
    void gzip_ofTwoMembers_isOneContent() {
        byte[] one = Compressed.GZIP.of("one, ");
        byte[] two = Compressed.GZIP_LONG_HEADER.of("two");
        byte[] both = Arrays.copyOf(one, one.length + two.length);
        System.arraycopy(two, 0, both, one.length, two.length);
        for (int i = 0; i <= both.length; i++) {
            assertThat(decode(Compressed.GZIP, both, LIMIT, i)).asString().isEqualTo("one, two");
        }
    }

    @Test
    void content_withADictionary_isRefused() {
        Deflater zlib = new Deflater();
        zlib.setDictionary("known before".getBytes(StandardCharsets.UTF_8));
        zlib.setInput("known before".getBytes(StandardCharsets.UTF_8));
        zlib.finish();
        byte[] compressed = new byte[100];
        int length = zlib.deflate(compressed);
        zlib.end();

        expectMalformed(Compressed.ZLIB, Arrays.copyOf(compressed, length));
        expectMalformed(Compressed.ZLIB, Arrays.copyOf(compressed, length), 1, 3, 6);
    }

    @ParameterizedTest
    @EnumSource
    void content_withOneBitChanged_isNeverTakenForAnother(Compressed form) {
        byte[] compressed = form.of(TEXT);
        for (int bit = 0; bit < compressed.length * 8; bit++) {
            byte[] changed = compressed.clone();
            changed[bit / 8] ^= (byte) (1 << bit % 8);
            try {
                byte[] decoded = decode(form, changed, LIMIT);
                // Raw deflate has no checksum; gzip's header has fields without effect.
                assertThat(form == Compressed.RAW || Arrays.equals(decoded, TEXT.getBytes(StandardCharsets.UTF_8)))
                        .as("bit %s", bit)
                        .isTrue();
            } catch (OipException refused) {
                assertThat(refused.code()).isIn(ErrorCode.INVALID_ARGUMENT, ErrorCode.PAYLOAD_TOO_LARGE);
            }
        }
    }

    @Test
    void release_whileAPartIsTaken_endsTheDecoding() {
        byte[] compressed = Compressed.GZIP.of(new byte[300_000]);
        ContentInflater decoder = ContentCoding.GZIP.decoder(ByteBufAllocator.DEFAULT, limits(LIMIT));
        AtomicLong parts = new AtomicLong();
        add(decoder, Unpooled.wrappedBuffer(compressed), part -> {
            part.release();
            decoder.release();
            parts.incrementAndGet();
        });
        assertThat(parts).hasValue(1);
    }

    @Test
    void decoderThatFindsNoMemory_releasesWhatItHasOnce() {
        byte[] random = new byte[200_000];
        new Random(3).nextBytes(random);
        ExhaustibleAllocator allocator = new ExhaustibleAllocator();
        ContentInflater decoder = ContentCoding.GZIP.decoder(allocator, limits(LIMIT));
        List<ByteBuf> parts = new ArrayList<>();
        decoder.add(Unpooled.wrappedBuffer(Compressed.GZIP.of(random)));
        assertThatThrownBy(() -> decoder.decode(() -> true, part -> {
                    parts.add(part);
                    allocator.exhaust();
                }))
                .isInstanceOf(OutOfMemoryError.class);
        decoder.release();
        assertThat(parts.getFirst().refCnt()).isEqualTo(parts.size());
        parts.forEach(ByteBuf::release);
    }

    @ParameterizedTest
    @ValueSource(strings = {"gzip", "deflate"})
    void compress_isReadByTheJdk(String token) throws Exception {
        Compressed form = token.equals("gzip") ? Compressed.GZIP : Compressed.ZLIB;
        byte[] random = new byte[200_000];
        new Random(3).nextBytes(random);
        for (byte[] content : new byte[][] {{}, TEXT.getBytes(StandardCharsets.UTF_8), random}) {
            ByteBuf compressed = Objects.requireNonNull(
                    coding(form).compress(ByteBufAllocator.DEFAULT, Unpooled.copiedBuffer(content), 0));
            assertThat(form.plain(ByteBufUtil.getBytes(compressed))).isEqualTo(content);
            compressed.release();
        }
    }
}
