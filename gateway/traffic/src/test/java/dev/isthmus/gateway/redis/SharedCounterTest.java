package dev.isthmus.gateway.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.limit.RateCounters;
import dev.isthmus.gateway.limit.RateDecision;
import dev.isthmus.gateway.redis.TokenStore.Grant;
import dev.isthmus.gateway.redis.TokenStore.TokenBucketKey;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** A counter with a store that responds when the test says so. */
class SharedCounterTest {
    private static final long SECOND = Duration.ofSeconds(1).toNanos();
    private static final long MILLISECOND = Duration.ofMillis(1).toNanos();

    private final AtomicLong now = new AtomicLong(1);
    private final FakeStore store = new FakeStore();

    /** A request to the store that has no response yet. */
    private record StoreRequest(long first, long more, CompletableFuture<Grant> grant) {}

    private static final class FakeStore implements TokenStore {
        final Deque<StoreRequest> requests = new ArrayDeque<>();
        final List<Runnable> later = new ArrayList<>();
        long returned;
        boolean up = true;

        @Override
        public boolean answers() {
            return up;
        }

        @Override
        public CompletableFuture<Grant> take(TokenBucketKey bucket, long first, long more) {
            StoreRequest request = new StoreRequest(first, more, new CompletableFuture<>());
            requests.add(request);
            return request.grant;
        }

        @Override
        public void giveBack(TokenBucketKey bucket, long tokens) {
            returned += tokens;
        }

        @Override
        public void later(Runnable task, long nanos) {
            later.add(task);
        }

        void grant(long tokens) {
            requests.remove().grant.complete(new Grant(tokens, 0, 0));
        }

        void refuse(long wait, long debt) {
            requests.remove().grant.complete(new Grant(0, wait, debt));
        }

        void fail() {
            requests.remove().grant.completeExceptionally(new IOException("gone"));
        }

        void passes() {
            List<Runnable> due = List.copyOf(later);
            later.clear();
            due.forEach(Runnable::run);
        }
    }

    /** With a burst of one second. */
    private SharedCounter counter(long perSecond) {
        TokenBucketKey bucket = new TokenBucketKey("limit", perSecond, SECOND);
        return new SharedCounter(
                store,
                bucket,
                RateCounters.ofThisGateway(now::get).counter("limit", perSecond, SECOND),
                RateDecision.ADMITTED,
                now::get);
    }

    private SharedCounter without(RateDecision otherwise) {
        return new SharedCounter(store, new TokenBucketKey("limit", 1, SECOND), null, otherwise, now::get);
    }

    private static @Nullable RateDecision decided(RateDecision decision) {
        return decision instanceof RateDecision.Undecided undecided ? undecided.getNow(null) : decision;
    }

    @Test
    void firstCall_waitsForTheStore() {
        RateDecision decision = counter(100).take(1);
        assertThat(decided(decision)).isNull();
        assertThat(store.requests).singleElement().returns(1L, StoreRequest::first);
        store.grant(1);
        assertThat(decided(decision)).isEqualTo(RateDecision.ADMITTED);
    }

    @Test
    void smallLimit_takesNothingAhead() {
        SharedCounter counter = counter(100);
        for (int i = 0; i < 50; i++) {
            counter.take(1);
            assertThat(store.requests.getFirst().more).isZero();
            store.grant(1);
        }
    }

    @Test
    void frequentCalls_takeAhead_aTwoHundredthAtMost() {
        SharedCounter counter = counter(10_000);
        List<RateDecision> all = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            all.add(counter.take(1));
        }
        assertThat(store.requests)
                .singleElement()
                .returns(1L, StoreRequest::first)
                .returns(20L, StoreRequest::more);
        store.grant(21);
        assertThat(store.requests).singleElement().returns(978L + 50, StoreRequest::more);
        store.grant(979 + 50);
        assertThat(all).allMatch(decision -> decided(decision) == RateDecision.ADMITTED);
        assertThat(counter.take(1)).isEqualTo(RateDecision.ADMITTED);
    }

    @Test
    void callsThatWait_areRequestedTogether() {
        SharedCounter counter = counter(100);
        RateDecision first = counter.take(1);
        RateDecision second = counter.take(2);
        RateDecision third = counter.take(3);
        assertThat(store.requests).hasSize(1);
        store.grant(1);
        assertThat(decided(first)).isEqualTo(RateDecision.ADMITTED);
        assertThat(store.requests)
                .singleElement()
                .returns(2L, StoreRequest::first)
                .returns(3L, StoreRequest::more);
        store.grant(2);
        assertThat(decided(second)).isEqualTo(RateDecision.ADMITTED);
        assertThat(store.requests).singleElement().returns(3L, StoreRequest::first);
        store.refuse(SECOND, SECOND);
        assertThat(decided(third)).isInstanceOf(RateDecision.Exceeded.class);
    }

    @Test
    void tokensThatRunLow_areAskedForAhead_once() {
        SharedCounter counter = counter(10_000);
        counter.take(1);
        store.grant(21);
        assertThat(counter.take(1)).isEqualTo(RateDecision.ADMITTED);
        assertThat(store.requests).isEmpty();
        for (int i = 0; i < 2; i++) {
            assertThat(counter.take(1)).isEqualTo(RateDecision.ADMITTED);
            assertThat(store.requests)
                    .singleElement()
                    .returns(0L, StoreRequest::first)
                    .returns(40L, StoreRequest::more);
        }
    }

    @Test
    void refusal_isThatOfThoseBehind_byTheirAmounts() {
        SharedCounter counter = counter(10);
        counter.take(1);
        RateDecision second = counter.take(2);
        store.refuse(SECOND / 20, SECOND / 20 * 19);
        assertThat(decided(second)).isEqualTo(new RateDecision.Exceeded(SECOND / 20 * 3));
        assertThat(store.requests).isEmpty();
    }

    @Test
    void moreThanMayWait_areCountedAlone() {
        SharedCounter counter = counter(1);
        for (int i = 0; i < 10_000; i++) {
            assertThat(decided(counter.take(1))).isNull();
        }
        assertThat(counter.take(1)).isEqualTo(RateDecision.ADMITTED);
    }

    @Test
    void refusal_isRepeatedForAWhile_withoutAsking() {
        SharedCounter counter = counter(1);
        RateDecision refused = counter.take(1);
        store.refuse(SECOND / 2, SECOND / 2);
        assertThat(decided(refused)).isEqualTo(new RateDecision.Exceeded(SECOND / 2));
        now.addAndGet(10 * MILLISECOND);
        assertThat(counter.take(1)).isEqualTo(new RateDecision.Exceeded(SECOND / 2 - 10 * MILLISECOND));
        now.addAndGet(40 * MILLISECOND);
        assertThat(decided(counter.take(1))).isNull();
    }

    @Test
    void unusedTokens_areReturned() {
        SharedCounter counter = counter(10_000);
        counter.take(1);
        store.grant(11);
        assertThat(store.later).hasSize(1);
        now.addAndGet(90 * MILLISECOND);
        assertThat(counter.take(1)).isEqualTo(RateDecision.ADMITTED);
        now.addAndGet(20 * MILLISECOND);
        store.passes();
        assertThat(store.returned).isZero();
        now.addAndGet(100 * MILLISECOND);
        store.passes();
        assertThat(store.returned).isEqualTo(9);
        assertThat(store.later).isEmpty();
        assertThat(decided(counter.take(1))).isNull();
    }

    @Test
    void storeFails_waitingCallsAreCountedAlone() {
        SharedCounter counter = counter(1);
        RateDecision first = counter.take(1);
        RateDecision second = counter.take(1);
        store.fail();
        assertThat(decided(first)).isEqualTo(RateDecision.ADMITTED);
        assertThat(decided(second)).isEqualTo(new RateDecision.Exceeded(SECOND));
        counter.take(1);
        assertThat(store.requests).singleElement().returns(0L, StoreRequest::more);
    }

    @Test
    void storeGone_nothingIsAsked_andAdmittedCallsCount() {
        SharedCounter counter = counter(1);
        counter.take(1);
        store.grant(1);
        store.up = false;
        assertThat(counter.take(1)).isEqualTo(new RateDecision.Exceeded(SECOND));
        assertThat(store.requests).isEmpty();
    }

    @Test
    void storeGone_withoutACounter_isDecidedAsConfigured() {
        store.up = false;
        assertThat(without(RateDecision.ADMITTED).take(5)).isEqualTo(RateDecision.ADMITTED);
        assertThat(without(new RateDecision.Unreadable()).take(5)).isEqualTo(new RateDecision.Unreadable());
    }

    @Test
    void refund_goesToTheStore() {
        SharedCounter counter = counter(1);
        counter.take(1);
        store.grant(1);
        counter.refund(1);
        assertThat(store.returned).isEqualTo(1);
        store.up = false;
        assertThat(counter.take(1)).isEqualTo(RateDecision.ADMITTED);
    }
}
