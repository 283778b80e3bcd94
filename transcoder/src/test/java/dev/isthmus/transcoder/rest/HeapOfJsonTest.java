package dev.isthmus.transcoder.rest;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.lang.management.ManagementFactory;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Compares the heap that JSON takes while it is read with what is counted. */
class HeapOfJsonTest {
    /** An allocator without leak detection, whose records take more heap than the buffers. */
    private static final ByteBufAllocator PLAIN = new UnpooledByteBufAllocator(true, true);

    /** Bodies that take much more heap than their length. */
    enum Body {
        TENSORS(
                4096,
                "{\"inputs\":[",
                i -> "{\"name\":\"a" + i + "\",\"shape\":[0],\"datatype\":\"BYTES\",\"data\":[]},"),
        MEMBERS(100_000, "{", i -> "\"" + i + "\":0,"),
        MEMBERS_OF_A_TENSOR(100_000, "{\"inputs\":[{", i -> "\"" + i + "\":0,"),
        PARAMETERS(
                100_000,
                "{\"inputs\":[",
                i -> (i % 1000 == 0 ? "{\"name\":\"a" + i + "\",\"parameters\":{" : "")
                        + "\"" + i % 1000 + "\":" + i
                        + (i % 1000 == 999 ? "},\"shape\":[0],\"datatype\":\"BYTES\",\"data\":[]}," : ",")),
        TEXTS(
                100_000,
                "{\"inputs\":[",
                i -> (i % 1000 == 0 ? "{\"name\":\"a" + i + "\",\"parameters\":{" : "")
                        + "\"" + i % 1000 + "\":\"" + i
                        + (i % 1000 == 999 ? "\"},\"shape\":[0],\"datatype\":\"BYTES\",\"data\":[]}," : "\",")),
        OUTPUTS(4096, "{\"outputs\":[", i -> "{\"name\":\"a" + i + "\",\"parameters\":{\"binary_data\":true}},"),
        OUTPUTS_WITH_PARAMETERS(
                100_000,
                "{\"outputs\":[",
                i -> (i % 1000 == 0 ? "{\"name\":\"a" + i + "\",\"parameters\":{" : "") + "\"" + i % 1000 + "\":" + i
                        + (i % 1000 == 999 ? "}}," : ",")),
        STRING(1000, "{\"id\":\"", i -> "x".repeat(8000)),
        ID(1000, "{\"id\":\"", i -> "x".repeat(8000) + (i == 999 ? "\"," : "")),
        NESTED(1000, "{\"parameters\":{\"p\":[", i -> "[1,2,3],{\"a\":[]},".repeat(400)),
        DATA_BEFORE_DATATYPE(1000, "{\"inputs\":[{\"name\":\"a\",\"data\":[", i -> "\"x\",".repeat(2000)),
        ONE_BYTE_STRINGS(
                1000,
                "{\"inputs\":[{\"name\":\"a\",\"datatype\":\"BYTES\",\"shape\":[2000000],\"data\":[",
                i -> "\"x\",".repeat(2000));

        private final int count;
        private final String before;

        @SuppressWarnings("ImmutableEnumChecker") // it has no state
        private final IntFunction<String> part;

        Body(int count, String before, IntFunction<String> part) {
            this.count = count;
            this.before = before;
            this.part = part;
        }
    }

    private static long collectedHeap() {
        System.gc();
        System.gc();
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }

    private static void feed(Body body, RestRequestReader reader) {
        reader.feed(Unpooled.wrappedBuffer(body.before.getBytes(US_ASCII)));
        for (int i = 0; i < body.count; i++) {
            reader.feed(Unpooled.wrappedBuffer(body.part.apply(i).getBytes(US_ASCII)));
        }
    }

    /** The bytes counted, and the bytes of heap while the body is held. */
    private record Taken(long counted, long heap) {
        static Taken by(Body body) {
            RestRequestReader reader =
                    new RestRequestReader(PLAIN, ModelRef.of("m"), RestBody.ALL_JSON, true, WireLimits.DEFAULT);
            feed(body, reader);
            Taken taken = new Taken(reader.held(), collectedHeap());
            reader.release();
            return taken;
        }
    }

    @ParameterizedTest
    @EnumSource
    void heap_isHardlyMoreThanWhatIsCounted(Body body) {
        Taken taken = Taken.by(body);
        long heap = taken.heap() - collectedHeap();
        assertThat(heap).isLessThan(taken.counted() + taken.counted() / 4 + 64 * 1024);
    }

    private static long allocated(String datatype) {
        ByteBuf body = Unpooled.copiedBuffer(
                "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"" + datatype + "\",\"shape\":[1],\"data\":[\""
                        + "x".repeat(1 << 20) + "\"]}]}",
                US_ASCII);
        RestRequestReader reader =
                new RestRequestReader(PLAIN, new ModelRef("m", ""), body.readableBytes(), false, WireLimits.DEFAULT);
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long before = threads.getCurrentThreadAllocatedBytes();
        try {
            reader.feed(body);
        } catch (OipException refused) {
            assertThat(refused).hasMessageContaining("got a string");
        }
        long allocated = threads.getCurrentThreadAllocatedBytes() - before;
        reader.release();
        return allocated;
    }

    /** Of a long string that is no number, nothing is made but what every string takes. */
    @Test
    void stringAmongNumbers_isNotDecoded() {
        allocated("BYTES");
        allocated("FP32");
        assertThat(allocated("FP32")).isLessThan(allocated("BYTES") + (1 << 19));
    }
}
