package dev.isthmus.gateway.upstream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.InferMessage;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.Map;
import org.junit.jupiter.api.Test;

class UnaryStreamTest {
    private final FakeUpstream upstream = new FakeUpstream();
    private final Call call = new Call(
            new Operation.InferStream(false),
            Call.NO_DEADLINE,
            Map.of(),
            new EmbeddedChannel().eventLoop(),
            ByteBufAllocator.DEFAULT);
    private final UnaryStream stream = new UnaryStream(upstream, call, Reply.DISCARDING);

    private void send() {
        InferMessage empty = new InferMessage.ProtobufMessage(Unpooled.EMPTY_BUFFER);
        stream.send(call, new UpstreamRequest.InferenceRequest(ModelRef.of("m"), empty, "", true), false);
    }

    @Test
    void cancelledWhileACallIsStarted_cancelsThatCall() {
        upstream.beforeReturn = received -> stream.cancel();
        send();
        assertThat(upstream.only().cancelled).isTrue();
    }

    @Test
    void endedBeforeTheCallReturns_sendsTheNextRequest() {
        upstream.beforeReturn = FakeUpstream.ReceivedRequest::respond;
        send();
        send();
        assertThat(upstream.requests).hasSize(2).allMatch(received -> !received.cancelled);
    }
}
