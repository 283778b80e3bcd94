package dev.isthmus.gateway.upstream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.upstream.TimeoutQueue.CallTimeout;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Timeouts of calls that share a timer; times in seconds. */
class TimeoutQueueTest {
    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final List<String> expired = new ArrayList<>();
    private long now;
    private final TimeoutQueue queue = new TimeoutQueue(channel.eventLoop(), () -> now);

    TimeoutQueueTest() {
        channel.freezeTime();
    }

    @AfterEach
    void close() {
        channel.close();
    }

    private CallTimeout start(String name, long seconds) {
        CallTimeout timeout = new CallTimeout(TimeUnit.SECONDS.toNanos(seconds), true);
        assertThat(timeout.start(queue, () -> expired.add(name))).isTrue();
        return timeout;
    }

    private void pass(long seconds) {
        now += TimeUnit.SECONDS.toNanos(seconds);
        channel.advanceTimeBy(seconds, TimeUnit.SECONDS);
        channel.runScheduledPendingTasks();
    }

    @Test
    void timeouts_expireWhenTheyAreDue() {
        start("a", 10);
        pass(4);
        start("b", 10);
        pass(5);
        assertThat(expired).isEmpty();
        pass(1);
        assertThat(expired).containsExactly("a");
        pass(3);
        assertThat(expired).containsExactly("a");
        pass(1);
        assertThat(expired).containsExactly("a", "b");
    }

    @Test
    void stoppedTimeouts_neverExpire() {
        List<CallTimeout> started = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            started.add(start("call " + i, 10));
        }
        for (int stopped : new int[] {0, 2, 4}) {
            started.get(stopped).stop();
            started.get(stopped).stop();
        }
        pass(10);
        assertThat(expired).containsExactly("call 1", "call 3");
        start("next", 10);
        pass(10);
        assertThat(expired).endsWith("next");
    }

    @Test
    void shorterTimeout_doesNotWaitForLongerOnesBeforeIt() {
        start("long", 10);
        CallTimeout stopped = start("short", 1);
        start("shorter", 2);
        stopped.stop();
        pass(2);
        assertThat(expired).containsExactly("shorter");
        pass(8);
        assertThat(expired).containsExactly("shorter", "long");
    }

    @Test
    void shorterTimeout_doesNotWaitForTheTimerOfOneThatHasEnded() {
        start("long", 10).stop();
        start("short", 2);
        pass(2);
        assertThat(expired).containsExactly("short");
        start("next", 10);
        pass(9);
        assertThat(expired).containsExactly("short");
        pass(1);
        assertThat(expired).containsExactly("short", "next");
    }

    @Test
    void callThatBeginsAsOneExpires_hasItsFullTime() {
        CallTimeout first = new CallTimeout(TimeUnit.SECONDS.toNanos(5), true);
        first.start(queue, () -> start("retry", 5));
        pass(5);
        pass(4);
        assertThat(expired).isEmpty();
        pass(1);
        assertThat(expired).containsExactly("retry");
    }

    @Test
    void callAfterTheQueueWasClosed_stillExpires() {
        start("first", 10).stop();
        queue.close();
        start("second", 5);
        pass(5);
        assertThat(expired).containsExactly("second");
    }

    @Test
    void callWithoutTimeLeft_isNotStarted() {
        assertThat(new CallTimeout(0, true).start(queue, () -> expired.add("late")))
                .isFalse();
        assertThat(new CallTimeout(Long.MAX_VALUE, true).start(queue, () -> expired.add("endless")))
                .isTrue();
        pass(100);
        assertThat(expired).isEmpty();
    }
}
