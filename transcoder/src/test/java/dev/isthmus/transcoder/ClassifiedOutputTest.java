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
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Requests for classes of an output, for servers that would ignore it and others. */
class ClassifiedOutputTest {
    private static final ByteBufAllocator ALLOCATOR = ByteBufAllocator.DEFAULT;

    private final Transcoder transcoder = new Transcoder(WireLimits.DEFAULT);
    private final ByteBuf data = Unpooled.buffer().writeZero(4);

    private InferRequest request() {
        Tensor input = new Tensor("x", DataType.INT32, Shape.of(1), Map.of(), data);
        RequestedOutput best = new RequestedOutput("y", Map.of("classification", new Parameter.Int64(2)));
        return new InferRequest(ModelRef.of("m"), "", Map.of(), List.of(input), List.of(best));
    }

    private static ServerFeatures server(Wire wire, Dialect dialect) {
        return new ServerFeatures(wire, dialect, false, false);
    }

    private void assertRefused(InferMessage message, ServerFeatures peer) {
        assertThatThrownBy(() -> transcoder.request(ALLOCATOR, message, peer))
                .isInstanceOfSatisfying(
                        OipException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT))
                .hasMessage("output 'y': the model's server does not support classification");
        assertThat(data.refCnt()).isZero();
    }

    @ParameterizedTest
    @EnumSource
    void serverThatIgnoresIt_isNotAsked(Wire wire) {
        assertRefused(new InferMessage.DecodedRequest(request()), server(wire, Dialect.MLSERVER));
    }

    @ParameterizedTest
    @EnumSource(names = {"MLSERVER", "KSERVE", "OVMS"})
    void messageThatCouldPassUnchanged_isRefusedToo(Dialect dialect) {
        ByteBuf encoded = ProtobufWriter.request(ALLOCATOR, request(), Dialect.TRITON);
        assertRefused(new InferMessage.ProtobufMessage(encoded), server(Wire.PROTOBUF, dialect));
        assertThat(encoded.refCnt()).isZero();
    }

    @ParameterizedTest
    @EnumSource(names = {"TRITON", "GENERIC"})
    void otherServers_areAsked(Dialect dialect) {
        transcoder
                .request(ALLOCATOR, new InferMessage.DecodedRequest(request()), server(Wire.PROTOBUF, dialect))
                .release();
        assertThat(data.refCnt()).isZero();
    }
}
