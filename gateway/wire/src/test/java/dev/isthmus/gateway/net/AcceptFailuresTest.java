package dev.isthmus.gateway.net;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.embedded.EmbeddedChannel;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class AcceptFailuresTest {
    @Test
    void acceptingPausesForASecond() {
        EmbeddedChannel channel = new EmbeddedChannel(new AcceptFailures());
        channel.freezeTime();
        channel.pipeline().fireExceptionCaught(new IOException("Too many open files"));
        channel.pipeline().fireExceptionCaught(new IOException("Too many open files"));
        // Throws what a handler has not dealt with.
        channel.checkException();
        assertThat(channel.config().isAutoRead()).isFalse();
        channel.advanceTimeBy(999, TimeUnit.MILLISECONDS);
        channel.runScheduledPendingTasks();
        assertThat(channel.config().isAutoRead()).isFalse();
        channel.advanceTimeBy(1, TimeUnit.MILLISECONDS);
        channel.runScheduledPendingTasks();
        assertThat(channel.config().isAutoRead()).isTrue();
        assertThat(channel.isOpen()).isTrue();
        channel.finishAndReleaseAll();
    }
}
