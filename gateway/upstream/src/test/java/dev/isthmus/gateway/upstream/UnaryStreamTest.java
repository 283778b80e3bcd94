package dev.isthmus.gateway.upstream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayList;
import java.util.List;
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
    private final List<ErrorCode> failures = new ArrayList<>();
    private final UnaryStream stream = new UnaryStream(upstream, call, new Reply() {
        @Override
        public void message(ReplyMessage message) {
            if (message instanceof ReplyMessage.StreamError error) {
                failures.add(error.failure().code());
            }
            message.release();
        }

        @Override
        public void complete() {}

        @Override
        public void fail(OipException failure) {
            throw failure;
        }
    });

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
    void upstreamThatThrows_failsTheRequest_andTheNextOneIsSent() {
        upstream.broken = true;
        send();
        upstream.broken = false;
        send();
        upstream.only().respond();
        assertThat(failures).containsExactly(ErrorCode.INTERNAL);
        assertThat(stream.keptBytes()).isZero();
    }

    @Test
    void endedBeforeTheCallReturns_sendsTheNextRequest() {
        upstream.beforeReturn = FakeUpstream.ReceivedRequest::respond;
        send();
        send();
        assertThat(upstream.requests).hasSize(2).allMatch(received -> !received.cancelled);
    }
}
