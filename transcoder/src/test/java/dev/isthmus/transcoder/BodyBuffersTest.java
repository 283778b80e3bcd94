package dev.isthmus.transcoder;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.oip.InferResponse;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import java.nio.charset.StandardCharsets;
import java.util.function.UnaryOperator;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A REST response with binary data is read alike from any kind of buffer. */
class BodyBuffersTest {
    /** The gateway's allocator: its slices have their own implementation of slices and duplicates. */
    private static final ByteBufAllocator ALLOCATOR = new PooledByteBufAllocator(true);

    private static final String JSON = "{\"model_name\":\"m\",\"outputs\":[{\"name\":\"y\",\"datatype\":\"INT8\","
            + "\"shape\":[4],\"parameters\":{\"binary_data_size\":4}}]}";
    private static final byte[] DATA = {1, 2, 3, 4};

    /** How a body's bytes are laid out in memory; the buffer is taken. */
    enum Layout {
        WHOLE(body -> body),
        SLICE_OF_A_LARGER_BUFFER(body -> {
            int length = body.readableBytes();
            ByteBuf larger = around(body);
            ByteBuf slice = larger.readRetainedSlice(length);
            larger.release();
            return slice;
        }),
        SLICE_OF_A_SLICE(body -> {
            int length = body.readableBytes();
            ByteBuf larger = around(body);
            ByteBuf slice = larger.retainedSlice(5, length + 16);
            larger.release();
            return slice.slice(8, length);
        }),
        DUPLICATE_OF_A_SLICE(body -> SLICE_OF_A_LARGER_BUFFER.lay.apply(body).duplicate()),
        COMPOSITE_OF_SLICES(body -> {
            int left = body.readableBytes();
            ByteBuf larger = around(body);
            CompositeByteBuf parts = ALLOCATOR.compositeBuffer();
            while (left > 0) {
                int length = Math.min(7, left);
                parts.addComponent(true, larger.readRetainedSlice(length));
                left -= length;
            }
            larger.release();
            return parts;
        });

        @SuppressWarnings("ImmutableEnumChecker") // it has no state
        private final UnaryOperator<ByteBuf> lay;

        Layout(UnaryOperator<ByteBuf> lay) {
            this.lay = lay;
        }

        /** Another buffer with more bytes before and after the body, with the reader index at the body. */
        private static ByteBuf around(ByteBuf body) {
            ByteBuf larger = ALLOCATOR.buffer();
            larger.writeBytes(new byte[13]).writeBytes(body).writeBytes(new byte[13]);
            body.release();
            return larger.skipBytes(13);
        }
    }

    @ParameterizedTest
    @EnumSource
    void answer(Layout layout) {
        ByteBuf body = ALLOCATOR
                .buffer()
                .writeBytes(JSON.getBytes(StandardCharsets.US_ASCII))
                .writeBytes(DATA);
        ByteBuf laid = layout.lay.apply(body);
        InferMessage.RestMessage message = new InferMessage.RestMessage(new RestBody(laid, JSON.length()));
        InferMessage read = new Transcoder(WireLimits.DEFAULT).response(ALLOCATOR, message, ResponseForm.DECODED);
        InferResponse response = ((InferMessage.Response) read).response();
        assertThat(ByteBufUtil.getBytes(response.outputs().get(0).data())).isEqualTo(DATA);
        response.release();
    }
}
