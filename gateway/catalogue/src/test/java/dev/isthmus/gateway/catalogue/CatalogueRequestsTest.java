package dev.isthmus.gateway.catalogue;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.upstream.FakeUpstream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class CatalogueRequestsTest {
    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final List<Reply> asked = new ArrayList<>();
    private final List<OipException> failures = new ArrayList<>();
    private final CatalogueRequests requests = new CatalogueRequests(
            channel.eventLoop(),
            UnpooledByteBufAllocator.DEFAULT,
            (upstream, what) -> {},
            (call, server, reply) -> asked.add(reply),
            1);

    private void ask() {
        requests.repositoryIndex(new FakeUpstream(), (message, failure) -> {
            if (failure != null) {
                failures.add(failure);
            }
        });
    }

    @Test
    void indexThatNeverComes_isAFailure_andOthersAreAskedFor() {
        channel.freezeTime();
        ask();
        ask();
        assertThat(asked).hasSize(1);
        channel.advanceTimeBy(10, TimeUnit.SECONDS);
        channel.runPendingTasks();
        assertThat(asked).hasSize(2);
        assertThat(failures).singleElement().matches(failure -> failure.code() == ErrorCode.DEADLINE_EXCEEDED);
        asked.forEach(reply -> reply.only(new ReplyMessage.Document(Unpooled.EMPTY_BUFFER)));
        assertThat(failures).hasSize(1);
    }
}
