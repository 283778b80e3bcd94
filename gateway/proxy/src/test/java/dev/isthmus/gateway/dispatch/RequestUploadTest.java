package dev.isthmus.gateway.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Operation.BodyForm;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.dispatch.RequestUpload.StreamedRequest;
import dev.isthmus.gateway.upstream.FakeUpstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.RequestOutline;
import dev.isthmus.transcoder.message.ServerFeatures;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class RequestUploadTest {
    private static final ModelRef MODEL = ModelRef.of("m");

    /** A request of which nothing has arrived. */
    private static final class EmptyRequest implements StreamedRequest {
        @Override
        public long length() {
            return 1;
        }

        @Override
        public RequestOutline outline() {
            return new RequestOutline(Map.of(), List.of(), List.of());
        }

        @Override
        public @Nullable StreamedMessage start(ServerFeatures peer, ModelRef model) {
            return null;
        }

        @Override
        public boolean hasPart() {
            return false;
        }

        @Override
        public ByteBuf take() {
            return Unpooled.EMPTY_BUFFER;
        }
    }

    @Test
    void cancelledWhileTheCallIsOpened_cancelsTheCall() {
        FakeUpstream upstream = new FakeUpstream();
        RequestUpload upload = new RequestUpload(
                new EmptyRequest(), new UpstreamRequest.InferenceInParts(MODEL, 1, ""), Reply.DISCARDING);
        upstream.beforeReturn = received -> upload.cancel();
        Operation operation = new Operation.Infer(MODEL, new BodyForm.RestForm(-1, -1, null), false);
        Call call = new Call(
                operation, Call.NO_DEADLINE, Map.of(), new EmbeddedChannel().eventLoop(), ByteBufAllocator.DEFAULT);
        upload.open(call, upstream);
        assertThat(upstream.only().cancelled).isTrue();
    }
}
