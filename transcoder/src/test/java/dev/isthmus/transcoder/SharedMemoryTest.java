package dev.isthmus.transcoder;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.message.Dialect;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.protobuf.ProtobufWriter;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestRequestReader;
import dev.isthmus.transcoder.rest.RestWriter;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Requests read before their server was chosen, for servers with and without shared memory. */
class SharedMemoryTest {
    private static final ByteBufAllocator ALLOCATOR = ByteBufAllocator.DEFAULT;
    private static final Map<String, Parameter> REGION =
            Map.of(Tensor.SHARED_MEMORY_REGION, new Parameter.Text("region"));
    private static final String INPUT_REFUSED = "input 'x': shared memory is not enabled";
    private static final String OUTPUT_REFUSED = "output 'y': shared memory is not enabled";

    private final Transcoder transcoder = new Transcoder(WireLimits.DEFAULT);
    private final ByteBuf data = Unpooled.buffer().writeZero(4);

    private InferRequest request(boolean input, boolean output) {
        Tensor plain = new Tensor("a", DataType.INT32, Shape.of(1), Map.of(), data);
        Tensor shared = new Tensor("x", DataType.INT32, Shape.of(1), REGION, Unpooled.EMPTY_BUFFER);
        RequestedOutput wanted = new RequestedOutput("y", output ? REGION : Map.of());
        return new InferRequest(
                ModelRef.of("m"), "", Map.of(), input ? List.of(plain, shared) : List.of(plain), List.of(wanted));
    }

    private void assertRefused(ThrowingCallable call, String message) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        OipException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT))
                .hasMessage(message);
        assertThat(data.refCnt()).isZero();
    }

    private InferMessage to(Wire wire, boolean sharedMemory, InferRequest request) {
        ServerFeatures peer = new ServerFeatures(wire, Dialect.TRITON, true, sharedMemory);
        return transcoder.request(ALLOCATOR, new InferMessage.DecodedRequest(request), peer);
    }

    @ParameterizedTest
    @EnumSource
    void sharedInput_peerWithout_isRefused(Wire wire) {
        assertRefused(() -> to(wire, false, request(true, true)), INPUT_REFUSED);
    }

    @ParameterizedTest
    @EnumSource
    void sharedOutput_peerWithout_isRefused(Wire wire) {
        assertRefused(() -> to(wire, false, request(false, true)), OUTPUT_REFUSED);
    }

    @ParameterizedTest
    @EnumSource
    void nothingShared_peerWithout_isSent(Wire wire) {
        to(wire, false, request(false, false)).release();
        assertThat(data.refCnt()).isZero();
    }

    @ParameterizedTest
    @EnumSource
    void shared_peerWith_isSent(Wire wire) {
        to(wire, true, request(true, true)).release();
        assertThat(data.refCnt()).isZero();
    }

    @Test
    void readers_refuseInTheSameWords() {
        ServerFeatures with = new ServerFeatures(Wire.REST, Dialect.TRITON, true, true);
        for (boolean input : new boolean[] {true, false}) {
            String message = input ? INPUT_REFUSED : OUTPUT_REFUSED;
            ByteBuf encoded =
                    ProtobufWriter.request(ALLOCATOR, request(input, true).retained(), Dialect.TRITON);
            for (Wire wire : Wire.values()) {
                InferMessage again = new InferMessage.ProtobufMessage(encoded.retainedDuplicate());
                ServerFeatures without = new ServerFeatures(wire, Dialect.TRITON, true, false);
                assertThatThrownBy(() -> transcoder.request(ALLOCATOR, again, without))
                        .hasMessage(message);
            }
            encoded.release();
            RestBody body = RestWriter.request(ALLOCATOR, request(input, true).retained(), with, Set.of());
            RestRequestReader reader =
                    new RestRequestReader(ALLOCATOR, ModelRef.of("m"), body.jsonLength(), false, WireLimits.DEFAULT);
            assertThatThrownBy(() -> reader.feed(body.content())).hasMessage(message);
            body.release();
        }
        data.release(data.refCnt());
    }
}
