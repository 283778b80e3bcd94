package dev.isthmus.gateway.pool;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.pool.Upstreams.UpstreamPool;
import dev.isthmus.gateway.pool.Upstreams.UpstreamPool.Lease;
import dev.isthmus.gateway.upstream.FakeUpstream;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class UpstreamPoolTest {
    private final UpstreamPool pool = new UpstreamPool();

    @Test
    void sameKey_isTheSameUpstream_untilTheLastLeaseEnds() {
        FakeUpstream made = new FakeUpstream();
        Lease first = pool.lease("key", () -> made);
        Lease second = pool.lease("key", FakeUpstream::new);
        assertThat(second.upstream()).isSameAs(made);
        first.close();
        first.close();
        assertThat(made.closed).isZero();
        second.close();
        assertThat(made.closed).isEqualTo(1);
    }

    @Test
    void keyOfAClosedUpstream_isMadeAnew() {
        pool.lease("key", FakeUpstream::new).close();
        FakeUpstream fresh = new FakeUpstream();
        assertThat(pool.lease("key", () -> fresh).upstream()).isSameAs(fresh);
    }

    @Test
    void close_endsThemAll_andLeasesAfterItDoNothing() {
        FakeUpstream one = new FakeUpstream();
        FakeUpstream two = new FakeUpstream();
        Lease lease = pool.lease("one", () -> one);
        assertThat(pool.lease("two", () -> two).upstream()).isSameAs(two);
        pool.close();
        lease.close();
        assertThat(one.closed).isEqualTo(1);
        assertThat(two.closed).isEqualTo(1);
    }

    @Test
    void settings_areThoseOfTheNewestLease() {
        List<String> applied = new ArrayList<>();
        Lease first = pool.lease("key", FakeUpstream::new, existing -> true, upstream -> applied.add("first"));
        Lease rejected = pool.lease("key", FakeUpstream::new, existing -> true, upstream -> applied.add("rejected"));
        rejected.close();
        Lease second = pool.lease("key", FakeUpstream::new, existing -> true, upstream -> applied.add("second"));
        first.close();
        second.close();
        assertThat(applied).containsExactly("first", "rejected", "first", "second");
    }
}
