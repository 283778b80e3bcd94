package dev.isthmus.gateway.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.upstream.FakeUpstream;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.Dialect;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A stream of requests to a REST server, each of which is produced in memory of its own, as are the responses. */
class StreamCallFlowTest {
    private static final ByteString REQUEST = ModelInferRequest.newBuilder()
            .setModelName("m")
            .addInputs(ModelInferRequest.InferInputTensor.newBuilder()
                    .setName("a")
                    .setDatatype("INT32")
                    .addShape(1))
            .addRawInputContents(ByteString.copyFrom(new byte[4]))
            .build()
            .toByteString();
    private static final String RESPONSE =
            "{\"model_name\":\"m\",\"outputs\":[{\"name\":\"b\",\"shape\":[1],\"datatype\":\"INT32\",\"data\":[1]}]}";

    private final ExhaustibleAllocator allocator = new ExhaustibleAllocator();
    private final StreamClient client = new StreamClient();
    private final RoutedModel model = new RoutedModel();
    private final FakeUpstream upstream = model.upstream;
    private final RequestSink request = model.open(
            ModelConfig.of("fake"),
            new Operation.InferStream(true),
            exchange -> new StreamCallFlow(exchange, model.transcoder),
            allocator,
            client);

    @AfterEach
    void close() {
        model.close();
    }

    /** Has no memory while it is exhausted. */
    private static final class ExhaustibleAllocator extends AbstractByteBufAllocator {
        private boolean exhausted;

        @Override
        protected ByteBuf newHeapBuffer(int initial, int most) {
            return newDirectBuffer(initial, most);
        }

        @Override
        protected ByteBuf newDirectBuffer(int initial, int most) {
            if (exhausted) {
                throw new OutOfMemoryError("of memory outside the heap");
            }
            return UnpooledByteBufAllocator.DEFAULT.directBuffer(initial, most);
        }

        @Override
        public boolean isDirectBufferPooled() {
            return false;
        }
    }

    /** What the client receives: the codes of errors, and OK for each response. */
    private static final class StreamClient implements Reply {
        private final List<String> received = new ArrayList<>();

        @Override
        public void message(ReplyMessage message) {
            received.add(
                    message instanceof ReplyMessage.StreamError error
                            ? error.failure().code().name()
                            : "OK");
            message.release();
        }

        @Override
        public void complete() {
            received.add("complete");
        }

        @Override
        public void fail(OipException failure) {
            throw failure;
        }
    }

    private void send() {
        request.data(Unpooled.wrappedBuffer(REQUEST.toByteArray()));
    }

    private void respond() {
        RestBody body = new RestBody(Unpooled.copiedBuffer(RESPONSE, StandardCharsets.UTF_8), RestBody.ALL_JSON);
        upstream.only().reply.message(new ReplyMessage.Inference(new InferMessage.RestMessage(body)));
    }

    @BeforeEach
    void serverSpeaksRest() {
        upstream.features = new ServerFeatures(Wire.REST, Dialect.GENERIC, false, false);
    }

    @Test
    void requestThatThereIsNoMemoryFor_failsAlone() {
        allocator.exhausted = true;
        send();
        assertThat(client.received).containsExactly("OVERLOADED");
        allocator.exhausted = false;
        send();
        respond();
        assertThat(client.received).containsExactly("OVERLOADED", "OK");
    }

    @Test
    void requestThatCannotBeSent_doesNotGetTheResponseToTheNextOne() {
        upstream.features = new ServerFeatures(Wire.PROTOBUF, Dialect.GENERIC, false, false);
        upstream.beforeReturn = stream -> stream.exhausted = true;
        send();
        upstream.only().exhausted = false;
        send();
        upstream.only().message();
        assertThat(client.received).containsExactly("OVERLOADED", "OK");
    }

    @Test
    void responseThatThereIsNoMemoryFor_failsItsRequestAlone() {
        send();
        allocator.exhausted = true;
        respond();
        assertThat(client.received).containsExactly("OVERLOADED");
        allocator.exhausted = false;
        send();
        respond();
        assertThat(client.received).containsExactly("OVERLOADED", "OK");
    }
}
