package dev.isthmus.gateway.net;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.EventLoopGroup;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.Test;

class EventLoopsTest {
    /** Such as one in which a layer from a jar waits for something. */
    @Test
    void loopThatIsBlocked_isNotWaitedForWithoutEnd() {
        EventLoopGroup loops = EventLoops.start(1, Transport.NIO.ioHandlerFactory());
        Semaphore released = new Semaphore(0);
        loops.execute(released::acquireUninterruptibly);
        EventLoops.stop(loops);
        assertThat(loops.isTerminated()).isFalse();
        released.release();
        assertThat(loops.terminationFuture().syncUninterruptibly().isSuccess()).isTrue();
    }
}
