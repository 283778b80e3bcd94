package dev.isthmus.gateway.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Operation.BodyForm;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.dispatch.ProxyStack.InferRules;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.NonFinite;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class InferCallTest {
    private static final ModelRef MODEL = ModelRef.of("m");
    private static final String REQUEST =
            "{\"inputs\":[{\"name\":\"a\",\"shape\":[1],\"datatype\":\"INT32\",\"data\":[1]}]}";

    private final RoutedModel model = new RoutedModel();
    private final RequestSink request = open();

    private RequestSink open() {
        Operation.Infer infer = new Operation.Infer(MODEL, new BodyForm.RestForm(RestBody.ALL_JSON, -1, null), false);
        InferRules rules = new InferRules(WireLimits.DEFAULT, NonFinite.TOKEN);
        return model.open(
                ModelConfig.of("fake"),
                infer,
                exchange -> IncomingRequest.of(exchange, infer, model.transcoder, rules),
                ByteBufAllocator.DEFAULT,
                Reply.DISCARDING);
    }

    @AfterEach
    void close() {
        model.close();
    }

    private void send() {
        request.data(Unpooled.copiedBuffer(REQUEST, StandardCharsets.UTF_8));
        request.end();
    }

    @Test
    void cancelledWhileTheCallIsStarted_cancelsTheCall() {
        model.upstream.beforeReturn = received -> request.cancel();
        send();
        assertThat(model.upstream.only().cancelled).isTrue();
    }

    @Test
    void invalidResponseWhileTheCallIsStarted_cancelsTheCall() {
        byte[] truncated = {0x0a, 0x7f};
        model.upstream.beforeReturn = received -> received.reply.message(
                new ReplyMessage.Inference(new InferMessage.ProtobufMessage(Unpooled.copiedBuffer(truncated))));
        send();
        assertThat(model.upstream.only().cancelled).isTrue();
    }
}
