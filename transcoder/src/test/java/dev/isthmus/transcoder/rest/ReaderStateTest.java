package dev.isthmus.transcoder.rest;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import org.junit.jupiter.api.Test;

/** The memory that a request holds while it is read. */
class ReaderStateTest {
    private static final int FLOATS = 4 << 20;
    private static final int CHUNK = 4096;
    private static final ByteBuf NUMBERS =
            Unpooled.wrappedBuffer(",0.48627451".repeat(CHUNK).getBytes(US_ASCII));

    private static RestRequestReader reader() {
        return new RestRequestReader(
                ByteBufAllocator.DEFAULT, ModelRef.of("m"), RestBody.ALL_JSON, false, WireLimits.DEFAULT);
    }

    private static void feed(RestRequestReader reader, String text) {
        reader.feed(Unpooled.wrappedBuffer(text.getBytes(US_ASCII)));
    }

    @Test
    void tensorOf16MiB_holdsAtMost18Megabytes() {
        RestRequestReader reader = reader();
        try {
            feed(reader, "{\"inputs\":[{\"name\":\"a\",\"datatype\":\"FP32\",\"shape\":[" + FLOATS + "],\"data\":[1");
            for (int i = 0; i < FLOATS / CHUNK - 1; i++) {
                reader.feed(NUMBERS.duplicate());
            }
            feed(reader, ",1".repeat(CHUNK - 1));
            assertThat(reader.held()).isBetween(FLOATS * 4L, 18_000_000L);
            feed(reader, "]}]}");
            reader.finish().request().release();
        } finally {
            reader.release();
        }
    }

    @Test
    void textOfUnknownDatatype_isHeld() {
        RestRequestReader reader = reader();
        feed(reader, "{\"inputs\":[{\"name\":\"a\",\"shape\":[5000],\"data\":[1" + ",0.5".repeat(4999));
        assertThat(reader.held()).isBetween(20_000L, 40_000L);
        reader.release();
    }

    @Test
    void released_holdsNothing() {
        RestRequestReader reader = reader();
        feed(reader, "{\"inputs\":[{\"name\":\"a\",\"datatype\":\"FP32\",\"shape\":[5000],\"data\":[1,");
        reader.release();
        assertThat(reader.held()).isZero();
    }
}
