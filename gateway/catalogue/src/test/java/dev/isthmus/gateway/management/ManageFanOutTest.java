package dev.isthmus.gateway.management;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.management.ManageFanOut.FanOutTarget;
import dev.isthmus.gateway.management.ManageFanOut.ServerReply;
import dev.isthmus.gateway.upstream.FakeUpstream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.proto.RepositoryModelLoadRequest;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ManageFanOutTest {
    private static final ModelRef MODEL = ModelRef.of("m");

    private final FakeUpstream one = new FakeUpstream();
    private final FakeUpstream two = new FakeUpstream();
    private final List<ServerReply> replies = new ArrayList<>();

    private static FanOutTarget target(FakeUpstream server) {
        return new FanOutTarget(new ReplicaStatus("a", "label", server, true, true, "", Map.of(), false, false), MODEL);
    }

    @Test
    void serverThatThrows_hasFailed_andOthersAreAsked() {
        one.beforeReturn = received -> {
            throw new IllegalStateException("broken");
        };
        Operation.Manage load = new Operation.Manage(Extension.REPOSITORY_LOAD, MODEL, "", true, false, false);
        Call call = new Call(
                load, Call.NO_DEADLINE, Map.of(), new EmbeddedChannel().eventLoop(), UnpooledByteBufAllocator.DEFAULT);
        ByteBuf request = Unpooled.copiedBuffer(RepositoryModelLoadRequest.newBuilder()
                .setModelName("m")
                .build()
                .toByteArray());
        new ManageFanOut(call, load, request, List.of(target(one), target(two)), replies::addAll).begin();
        two.last().reply.only(new ReplyMessage.Document(Unpooled.EMPTY_BUFFER));
        assertThat(replies).hasSize(2);
        assertThat(replies.getFirst().failure())
                .matches(failure -> failure != null && failure.code() == ErrorCode.INTERNAL);
        assertThat(replies.getLast().failure()).isNull();
        assertThat(request.release()).isTrue();
    }
}
