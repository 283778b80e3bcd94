package dev.isthmus.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.UpstreamPool.Lease;
import dev.isthmus.gateway.upstream.SilentUpstream;
import org.junit.jupiter.api.Test;

class UpstreamPoolTest {
    private final UpstreamPool pool = new UpstreamPool();

    private static final class Closing implements SilentUpstream {
        private int closed;

        @Override
        public void close() {
            closed++;
        }
    }

    @Test
    void sameKey_isTheSameUpstream_untilTheLastLeaseEnds() {
        Closing made = new Closing();
        Lease first = pool.lease("key", () -> made);
        Lease second = pool.lease("key", Closing::new);
        assertThat(second.upstream()).isSameAs(made);
        first.close();
        first.close();
        assertThat(made.closed).isZero();
        second.close();
        assertThat(made.closed).isEqualTo(1);
    }

    @Test
    void keyOfAClosedUpstream_isMadeAnew() {
        pool.lease("key", Closing::new).close();
        Closing fresh = new Closing();
        assertThat(pool.lease("key", () -> fresh).upstream()).isSameAs(fresh);
    }

    @Test
    void close_endsThemAll_andLeasesAfterItDoNothing() {
        Closing one = new Closing();
        Closing two = new Closing();
        Lease lease = pool.lease("one", () -> one);
        assertThat(pool.lease("two", () -> two).upstream()).isSameAs(two);
        pool.close();
        lease.close();
        assertThat(one.closed).isEqualTo(1);
        assertThat(two.closed).isEqualTo(1);
    }
}
