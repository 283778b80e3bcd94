package dev.isthmus.gateway.pool;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.pool.Upstreams.UpstreamPool;
import dev.isthmus.gateway.pool.Upstreams.UpstreamPool.Lease;
import dev.isthmus.gateway.upstream.FakeUpstream;
import dev.isthmus.gateway.upstream.Upstream;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

class UpstreamPoolTest {
    private final UpstreamPool pool = new UpstreamPool();

    private Lease lease(String key, Supplier<Upstream> factory) {
        return pool.lease(key, factory, existing -> true);
    }

    @Test
    void sameKey_isTheSameUpstream_untilTheLastLeaseEnds() {
        FakeUpstream made = new FakeUpstream();
        Lease first = lease("key", () -> made);
        Lease second = lease("key", FakeUpstream::new);
        assertThat(second.upstream()).isSameAs(made);
        first.close();
        first.close();
        assertThat(made.closed).isZero();
        second.close();
        assertThat(made.closed).isEqualTo(1);
    }

    @Test
    void keyOfAClosedUpstream_isMadeAnew() {
        lease("key", FakeUpstream::new).close();
        FakeUpstream fresh = new FakeUpstream();
        assertThat(lease("key", () -> fresh).upstream()).isSameAs(fresh);
    }

    /** As that of a configuration that is rejected. */
    @Test
    void upstreamBesideOneInUse_leavesThatInItsPlace() {
        FakeUpstream used = new FakeUpstream();
        FakeUpstream other = new FakeUpstream();
        Lease first = lease("key", () -> used);
        Lease rejected = pool.lease("key", () -> other, existing -> false);
        assertThat(rejected.upstream()).isSameAs(other);
        rejected.close();
        assertThat(lease("key", FakeUpstream::new).upstream()).isSameAs(first.upstream());
        assertThat(pool.lease("key", FakeUpstream::new, existing -> false).upstream())
                .isNotSameAs(used);
        pool.close();
        assertThat(used.closed).isEqualTo(1);
        assertThat(other.closed).isEqualTo(1);
    }

    @Test
    void close_endsThemAll_andLeasesAfterItDoNothing() {
        FakeUpstream one = new FakeUpstream();
        FakeUpstream two = new FakeUpstream();
        Lease lease = lease("one", () -> one);
        assertThat(lease("two", () -> two).upstream()).isSameAs(two);
        pool.close();
        lease.close();
        assertThat(one.closed).isEqualTo(1);
        assertThat(two.closed).isEqualTo(1);
    }
}
