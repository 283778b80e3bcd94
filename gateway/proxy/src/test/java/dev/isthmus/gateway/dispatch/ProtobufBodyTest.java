package dev.isthmus.gateway.dispatch;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Operation.BodyForm;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.dispatch.ProxyStack.InferRules;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.testing.FailingAllocator;
import dev.isthmus.transcoder.message.Dialect;
import dev.isthmus.transcoder.message.NonFinite;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.protobuf.ProtobufReader;
import dev.isthmus.transcoder.protobuf.RawRequest;
import dev.isthmus.transcoder.protobuf.RequestHeadFinder;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ProtobufBodyTest {
    private static final ModelRef MODEL = ModelRef.of("m");
    private static final byte[] REQUEST = ModelInferRequest.newBuilder()
            .setModelName("m")
            .addInputs(ModelInferRequest.InferInputTensor.newBuilder()
                    .setName("a")
                    .setDatatype("UINT8")
                    .addShape(4000))
            .addRawInputContents(ByteString.copyFrom(new byte[4000]))
            .build()
            .toByteArray();

    private final RoutedModel model = new RoutedModel();
    private final FailingAllocator allocator = new FailingAllocator();

    @AfterEach
    void close() {
        model.close();
    }

    /** A request in parts, for a model that its server calls otherwise. */
    private RequestSink open(ByteBuf start) {
        model.upstream.features = new ServerFeatures(Wire.PROTOBUF, Dialect.GENERIC, false, false);
        model.upstream.passesFrom = 100;
        int headLength = new RequestHeadFinder().in(start);
        ByteBuf head = start.slice(start.readerIndex(), headLength);
        RawRequest raw = requireNonNull(RawRequest.of(head, REQUEST.length, WireLimits.DEFAULT));
        Operation.Infer infer =
                new Operation.Infer(MODEL, new BodyForm.ProtobufForm(ProtobufReader.Outline.ofHead(head), raw), false);
        InferRules rules = new InferRules(WireLimits.DEFAULT, NonFinite.TOKEN);
        return model.open(
                TestConfigs.with(ModelConfig.of("fake"), Map.of("model", "otherwise")),
                infer,
                exchange -> IncomingRequest.of(exchange, infer, model.transcoder, rules),
                allocator,
                Reply.DISCARDING);
    }

    @Test
    void partsOfARequest_thatFindNoMemoryForItsNewName_areReleased() {
        boolean failed = true;
        for (int failures = 0; failed; failures++) {
            ByteBuf part = Unpooled.copiedBuffer(REQUEST, 0, 2000);
            RequestSink request = open(part);
            allocator.failAfter(failures);
            request.data(part);
            failed = allocator.failed();
            request.cancel();
            assertThat(part.refCnt()).as("after allocation %s", failures).isZero();
            assertThat(allocator.held()).isZero();
        }
    }
}
