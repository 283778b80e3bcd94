package dev.isthmus.transcoder;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.message.Dialect;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.protobuf.ProtobufWriter;
import dev.isthmus.transcoder.rest.OutputForms;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestRequestReader;
import dev.isthmus.transcoder.rest.RestWriter;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * Limits the heap allocation, in bytes, of a request of four floats, to detect regressions. The limits are somewhat
 * above measured values.
 */
class SmallRequestTest {
    private static final byte[] BODY =
            ("{\"id\":\"7\",\"inputs\":[{\"name\":\"INPUT0\",\"datatype\":\"FP32\",\"shape\":[1,4],"
                            + "\"data\":[1.0,-2.5,0.125,3.0]}]}")
                    .getBytes(US_ASCII);
    /** Direct memory, as in the gateway; without the leak detector, which allocates itself. */
    private static final ByteBufAllocator ALLOCATOR = new UnpooledByteBufAllocator(true, true);

    private static final int ROUNDS = 2000;

    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private long bytesOf(Runnable once) {
        long min = Long.MAX_VALUE;
        for (int i = 0; i < ROUNDS; i++) {
            long before = threads.getCurrentThreadAllocatedBytes();
            once.run();
            min = Math.min(min, threads.getCurrentThreadAllocatedBytes() - before);
        }
        return min;
    }

    private static InferRequest read() {
        RestRequestReader reader =
                new RestRequestReader(ALLOCATOR, ModelRef.of("m"), RestBody.ALL_JSON, false, WireLimits.DEFAULT);
        reader.feed(Unpooled.wrappedBuffer(BODY));
        return reader.finish().request();
    }

    @Test
    void fourFloatsAsJson_areReadWithLittleGarbage() {
        assertThat(bytesOf(() -> read().release())).isLessThan(1900);
    }

    @Test
    void fourFloats_areWrittenAsProtobufWithLittleGarbage() {
        InferRequest request = read();

        assertThat(bytesOf(() -> ProtobufWriter.request(ALLOCATOR, request.retained(), Dialect.GENERIC)
                        .release()))
                .isLessThan(2150);

        request.release();
    }

    @Test
    void fourFloats_areWrittenAsJsonWithLittleGarbage() {
        ByteBuf data = Unpooled.buffer()
                .writeFloatLE(1)
                .writeFloatLE(-2.5f)
                .writeFloatLE(0)
                .writeFloatLE(3);
        Tensor output = new Tensor("OUTPUT0", DataType.FP32, Shape.of(1, 4), Map.of(), data);
        InferResponse response = new InferResponse(ModelRef.of("m"), "7", Map.of(), List.of(output));

        assertThat(bytesOf(() -> RestWriter.response(ALLOCATOR, response.retained(), OutputForms.JSON)
                        .content()
                        .release()))
                .isLessThan(1400);

        response.release();
    }
}
