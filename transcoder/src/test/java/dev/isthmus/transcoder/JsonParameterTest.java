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
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A request that was decoded for a server that accepts any JSON as a parameter, for other servers. */
class JsonParameterTest {
    private static final Map<String, Parameter> OWN = Map.of("p", new Parameter.Json("[1]"));

    private final Transcoder transcoder = new Transcoder(WireLimits.DEFAULT);
    /** What has the parameter. */
    private enum Place {
        REQUEST,
        INPUT,
        OUTPUT
    }

    private static InferMessage request(Place place, ByteBuf data) {
        Tensor input = new Tensor("x", DataType.INT32, Shape.of(1), at(place, Place.INPUT), data);
        RequestedOutput output = new RequestedOutput("y", at(place, Place.OUTPUT));
        return new InferMessage.DecodedRequest(
                new InferRequest(ModelRef.of("m"), "", at(place, Place.REQUEST), List.of(input), List.of(output)));
    }

    private static Map<String, Parameter> at(Place place, Place wanted) {
        return place == wanted ? OWN : Map.of();
    }

    @ParameterizedTest
    @EnumSource
    void serverWithoutIt_doesNotGetTheRequest(Place place) {
        for (Wire wire : Wire.values()) {
            Dialect dialect = wire == Wire.REST ? Dialect.TRITON : Dialect.MLSERVER;
            ByteBuf data = Unpooled.buffer().writeZero(4);
            InferMessage request = request(place, data);
            assertThatThrownBy(() -> transcoder.request(
                            ByteBufAllocator.DEFAULT, request, new ServerFeatures(wire, dialect, false, false)))
                    .isInstanceOfSatisfying(
                            OipException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT))
                    .hasMessageStartingWith("parameter 'p': ");
            assertThat(data.refCnt()).isZero();
        }
    }
}
