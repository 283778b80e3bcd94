package dev.isthmus.gateway.grpc;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.coding.ContentCoding;
import dev.isthmus.testing.FailingAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Whatever allocation fails: what was taken is released, and so is what was written. */
class ExhaustedMemoryOfMessagesTest {
    private final FailingAllocator allocator = new FailingAllocator();
    private final List<ByteBuf> taken = new ArrayList<>();

    /** Repeats this until nothing fails. */
    private void eachFails(Function<ByteBufAllocator, ByteBuf> step) {
        boolean failed = true;
        for (int failures = 0; failed; failures++) {
            taken.clear();
            allocator.failAfter(failures);
            try {
                step.apply(allocator).release();
                failed = allocator.failed();
            } catch (OutOfMemoryError expected) {
                assertThat(allocator.failed()).isTrue();
            }
            assertThat(allocator.held()).as("after allocation %s", failures).isZero();
            assertThat(taken).allSatisfy(each -> assertThat(each.refCnt()).isZero());
        }
    }

    private ByteBuf bytes(int size) {
        byte[] bytes = new byte[size];
        new Random(size).nextBytes(bytes);
        return bytes(bytes);
    }

    private ByteBuf bytes(byte[] bytes) {
        taken.add(Unpooled.wrappedBuffer(bytes));
        return taken.getLast();
    }

    @ParameterizedTest
    @ValueSource(ints = {20, 4000})
    void prefixedMessage(int size) {
        eachFails(memory -> MessagePrefix.before(bytes(size).slice(), memory));
    }

    @Test
    void base64() {
        eachFails(memory -> Base64Encoder.encode(bytes(20_000), memory));
        eachFails(memory -> new Base64Decoder(memory).decode(bytes("AAAA".getBytes(US_ASCII))));
    }

    @ParameterizedTest
    @EnumSource
    void compressedMessage(ContentCoding coding) {
        eachFails(memory -> {
            ByteBuf content = bytes(100_000);
            ByteBuf packed = coding.compress(memory, content, 5);
            assertThat(packed == null).isEqualTo(allocator.failed());
            assertThat(content.refCnt()).isEqualTo(packed == null ? 1 : 0);
            return packed == null ? content : packed;
        });
    }

    @Test
    void messageInParts() {
        eachFails(memory -> {
            GrpcDeframer deframer = new GrpcDeframer(memory, 1 << 20, null);
            try {
                ByteBuf prefix = bytes(20_000).clear().writeByte(0).writeInt(900);
                deframer.add(prefix);
                assertThat(deframer.next()).isNull();
                for (int i = 0; i < 3; i++) {
                    deframer.add(bytes(20_000).readerIndex(19_700));
                }
                return requireNonNull(deframer.next());
            } finally {
                deframer.release();
            }
        });
    }
}
