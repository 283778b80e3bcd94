package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.fleet.FleetBench.ClientReply;
import dev.isthmus.gateway.settings.AdaptiveConcurrency;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.QueueConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.settings.UpstreamConfig.Breaker;
import dev.isthmus.gateway.upstream.FakeUpstream.ReceivedRequest;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamStream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException.Processed;
import io.netty.channel.DefaultEventLoop;
import io.netty.channel.EventLoop;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Calls that wait, in virtual time. */
class CallQueueTest {
    private static final QueueConfig QUEUE = queue(Map.of());

    private static QueueConfig queue(Map<String, Object> changes) {
        Map<String, Object> all = new HashMap<>(Map.of("reserved", 0.0));
        all.putAll(changes);
        return TestConfigs.with(DefaultValues.of(QueueConfig.class), all);
    }

    private static FleetBench limited(int calls, QueueConfig queue) {
        return FleetBench.ofOne(TestConfigs.with(FleetBench.config(), Map.of("maxRequests", calls, "queue", queue)));
    }

    private static ClientReply infer(FleetBench bench, String caller) {
        return bench.infer(bench.callOf(caller), 10);
    }

    private static double refused(FleetBench bench, String cause) {
        return bench.count("isthmus.upstream.rejected", "cause", "queue_" + cause);
    }

    private static double waiting(FleetBench bench) {
        return bench.gauge("isthmus.upstream.queue.waiting");
    }

    private static String callers(FleetBench bench) {
        StringBuilder callers = new StringBuilder();
        bench.one.requests.forEach(
                received -> callers.append(received.call.context().principal().name()));
        return callers.toString();
    }

    /** Answers all calls, those that wait too, one after the other. */
    private static void answerAll(FleetBench bench) {
        for (int i = 0; i < bench.one.requests.size(); i++) {
            ReceivedRequest received = bench.one.requests.get(i);
            if (!received.cancelled) {
                received.respond();
            }
            bench.run();
        }
    }

    @Test
    void atTheLimit_aCallWaits_andIsSentWhenAnotherEnds() {
        try (FleetBench bench = limited(1, QUEUE)) {
            ClientReply first = infer(bench, "a");
            ClientReply second = infer(bench, "b");
            assertThat(bench.one.requests).hasSize(1);
            assertThat(waiting(bench)).isOne();
            bench.advance(7);

            bench.one.last().respond();
            bench.run();

            assertThat(first.complete).isTrue();
            assertThat(waiting(bench)).isZero();
            assertThat(bench.one.requests).hasSize(2);
            bench.one.last().respond();
            assertThat(second.complete).isTrue();
            assertThat(bench.meters.get("isthmus.upstream.queue.wait").timer().count())
                    .isOne();
        }
    }

    @Test
    void clientsWithoutNames_areCallers_byAddress_orByNetwork() {
        try (FleetBench bench = limited(1, queue(Map.of("maxWaitingPerCaller", 1)))) {
            infer(bench, "a");
            List<ClientReply> waiting = new ArrayList<>();
            for (String address : List.of("192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8:0:1::1")) {
                waiting.add(bench.infer(callFrom(bench, address), 10));
            }
            ClientReply sameNetwork = bench.infer(callFrom(bench, "2001:db8::2:3"), 10);
            bench.run();

            assertThat(sameNetwork.failure().code()).isEqualTo(ErrorCode.UNAVAILABLE);
            assertThat(refused(bench, "caller_full")).isOne();
            answerAll(bench);
            assertThat(waiting).allSatisfy(each -> assertThat(each.complete).isTrue());
        }
    }

    private static Call callFrom(FleetBench bench, String address) {
        Call call = bench.call();
        call.context().forwardedFor(new InetSocketAddress(address, 1));
        return call;
    }

    /** As at the gateway's end, when event loops stop one after the other. */
    @Test
    void callWhoseEventLoopHasEnded_isReleased_andTheNextIsSent() {
        EventLoop ended = new DefaultEventLoop();
        try (FleetBench bench = limited(1, QUEUE)) {
            infer(bench, "a");
            bench.infer(call(bench, ended), 10);
            ClientReply next = infer(bench, "b");
            bench.infer(call(bench, ended), 10);
            ended.shutdownGracefully(0, 0, TimeUnit.SECONDS).syncUninterruptibly();

            bench.one.last().respond();
            bench.run();

            assertThat(callers(bench)).isEqualTo("ab");
            bench.one.last().respond();
            assertThat(next.complete).isTrue();
            assertThat(waiting(bench)).isZero();
        }
    }

    private static Call call(FleetBench bench, EventLoop loop) {
        Call call = bench.call();
        return new Call(call.operation(), Call.NO_DEADLINE, Map.of(), loop, call.allocator());
    }

    @Test
    void whenTheQueueCloses_callsOfEndedEventLoopsAreReleased() {
        EventLoop ended = new DefaultEventLoop();
        try (FleetBench bench = limited(1, QUEUE)) {
            infer(bench, "a");
            bench.infer(call(bench, ended), 10);
            ended.shutdownGracefully(0, 0, TimeUnit.SECONDS).syncUninterruptibly();
            bench.closeCluster();
            assertThat(bench.held()).isZero();
            bench.one.last().respond();
        }
    }

    @Test
    void callersTakeTurns() {
        try (FleetBench bench = limited(1, QUEUE)) {
            for (int i = 0; i < 4; i++) {
                infer(bench, "a");
            }
            infer(bench, "b");
            infer(bench, "b");
            answerAll(bench);

            assertThat(callers(bench)).isEqualTo("aababa");
        }
    }

    @Test
    void weightsAreThoseOfNames_orElseOfTheHighestGroup() {
        QueueConfig weighted = queue(Map.of("weights", Map.of("a", 3), "groupWeights", Map.of("fast", 2, "slow", 1)));
        try (FleetBench bench = limited(1, weighted)) {
            infer(bench, "x");
            for (int i = 0; i < 6; i++) {
                infer(bench, "a");
                bench.infer(bench.callOf("b", "fast", "slow"), 10);
                infer(bench, "c");
            }
            answerAll(bench);

            String firstTwelve = callers(bench).substring(1, 7);
            assertThat(firstTwelve.chars().filter(each -> each == 'a').count()).isEqualTo(3);
            assertThat(firstTwelve.chars().filter(each -> each == 'b').count()).isEqualTo(2);
            assertThat(firstTwelve.chars().filter(each -> each == 'c').count()).isOne();
        }
    }

    @Test
    void modelsHaveShares() {
        try (FleetBench bench = limited(1, queue(Map.of("shares", Map.of("big", 3))))) {
            infer(bench, "a");
            for (int i = 0; i < 8; i++) {
                bench.infer(bench.callOf("a"), ModelRef.of("small"), 10);
                bench.infer(bench.callOf("a"), ModelRef.of("big"), 10);
            }
            answerAll(bench);

            assertThat(bench.one.requests.subList(1, 9).stream()
                            .filter(received -> ModelRef.of("big").equals(received.model))
                            .count())
                    .isEqualTo(6);
        }
    }

    private static Call prioritized(FleetBench bench, String caller, long priority) {
        Call call = bench.callOf(caller);
        call.context().prioritized(priority);
        return call;
    }

    @Test
    void prioritiesOrderTheCallsOfOneCaller_andAge() {
        try (FleetBench bench = limited(1, queue(Map.of("priorityLevels", 3)))) {
            infer(bench, "x");
            List<ClientReply> replies = new ArrayList<>();
            for (long priority : new long[] {3, 0, 9, 2, 1}) {
                replies.add(bench.infer(prioritized(bench, "a", priority), 10));
            }
            ClientReply other = bench.infer(prioritized(bench, "b", 3), 10);
            // A third of max_wait for each level.
            bench.advance(700);
            replies.add(bench.infer(prioritized(bench, "a", 1), 10));
            List<ClientReply> order = new ArrayList<>();
            for (int i = 0; i < bench.one.requests.size(); i++) {
                bench.one.requests.get(i).respond();
                bench.run();
                replies.stream()
                        .filter(reply -> reply.complete && !order.contains(reply))
                        .forEach(order::add);
            }

            assertThat(order)
                    .containsExactly(
                            replies.get(4),
                            replies.get(1),
                            replies.get(2),
                            replies.get(3),
                            replies.get(0),
                            replies.get(5));
            assertThat(other.complete).isTrue();
            assertThat(callers(bench)).isEqualTo("xabaaaaa");
        }
    }

    @Test
    void aCallThatItsClientCancels_leavesTheQueue() {
        try (FleetBench bench = limited(1, QUEUE)) {
            ClientReply first = infer(bench, "a");
            ClientReply second = infer(bench, "b");

            second.cancellation.cancel();

            assertThat(bench.held()).isZero();
            assertThat(waiting(bench)).isZero();
            bench.one.last().respond();
            bench.run();
            assertThat(first.complete).isTrue();
            assertThat(second.ended()).isFalse();
            assertThat(bench.one.requests).hasSize(1);
        }
    }

    @Test
    void aCallThatIsCancelledWhileItStarts_givesItsPlaceToTheNext() {
        try (FleetBench bench = limited(1, QUEUE)) {
            infer(bench, "a");
            ClientReply second = infer(bench, "b");
            ClientReply third = infer(bench, "c");
            bench.one.last().respond();

            second.cancellation.cancel();
            bench.run();

            assertThat(callers(bench)).isEqualTo("ac");
            bench.one.last().respond();
            assertThat(third.complete).isTrue();
        }
    }

    @Test
    void aCallThatWasSent_isCancelledAtItsServer() {
        try (FleetBench bench = limited(1, QUEUE)) {
            infer(bench, "a");
            ClientReply second = infer(bench, "b");
            bench.one.last().respond();
            bench.run();

            second.cancellation.cancel();

            assertThat(bench.one.last().cancelled).isTrue();
        }
    }

    @Test
    void afterMaxWait_aCallIsRefused() {
        try (FleetBench bench = limited(1, QUEUE)) {
            ClientReply first = infer(bench, "a");
            ClientReply second = infer(bench, "b");
            bench.advance(999);
            assertThat(second.ended()).isFalse();

            bench.advance(1);

            assertThat(second.failure()).hasMessage("upstream 'triton' had no place for the call within 1s");
            assertThat(second.failure().code()).isEqualTo(ErrorCode.UNAVAILABLE);
            assertThat(second.failure().processed()).isEqualTo(Processed.NO);
            assertThat(second.failure().retryAfter()).isPresent();
            assertThat(refused(bench, "timeout")).isOne();
            first.cancellation.cancel();
        }
    }

    @Test
    void aDeadlineEndsTheWait() {
        try (FleetBench bench = limited(1, QUEUE)) {
            ClientReply first = infer(bench, "a");
            ClientReply second = bench.infer(bench.callWithin(20), 10);
            bench.advance(20);

            assertThat(second.failure().code()).isEqualTo(ErrorCode.DEADLINE_EXCEEDED);
            assertThat(second.failure().processed()).isEqualTo(Processed.NO);
            assertThat(refused(bench, "timeout")).isOne();
            first.cancellation.cancel();
        }
    }

    /** A place is free every 100 ms. */
    private static void busy(FleetBench bench) {
        for (int i = 0; i < 10; i++) {
            infer(bench, "loud");
        }
        for (int i = 0; i < 9; i++) {
            bench.advance(100);
            bench.one.last().respond();
            bench.run();
        }
        assertThat(waiting(bench)).isZero();
    }

    @Test
    void whatWouldStartTooLate_isRefusedAtOnce() {
        try (FleetBench bench = limited(1, QUEUE)) {
            busy(bench);
            List<ClientReply> waiting = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
                waiting.add(infer(bench, "loud"));
            }

            ClientReply late = infer(bench, "loud");
            ClientReply hasty = bench.infer(bench.callOf("quiet").withDeadline(150_000_000 + bench.now()), 10);
            ClientReply quiet = bench.infer(bench.callOf("quiet").withDeadline(250_000_000 + bench.now()), 10);

            assertThat(late.failure().code()).isEqualTo(ErrorCode.UNAVAILABLE);
            assertThat(late.failure().message()).contains("after its deadline or max_wait");
            assertThat(late.failure().retryAfter().orElseThrow()).isGreaterThan(Duration.ofSeconds(1));
            assertThat(hasty.failure().message()).contains("after its deadline or max_wait");
            assertThat(quiet.ended()).isFalse();
            assertThat(refused(bench, "too_late")).isEqualTo(2);
            waiting.forEach(reply -> reply.cancellation.cancel());
            quiet.cancellation.cancel();
            bench.one.last().respond();
        }
    }

    @Test
    void aCallerHasALimit() {
        try (FleetBench bench = limited(1, queue(Map.of("maxWaitingPerCaller", 2)))) {
            List<ClientReply> replies = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                replies.add(infer(bench, "a"));
            }

            ClientReply fourth = infer(bench, "a");
            replies.add(infer(bench, "b"));

            assertThat(fourth.failure())
                    .hasMessage("upstream 'triton' has too many waiting calls of this caller (limit 2)");
            assertThat(refused(bench, "caller_full")).isOne();
            assertThat(waiting(bench)).isEqualTo(3);
            answerAll(bench);
            assertThat(replies).allSatisfy(reply -> assertThat(reply.complete).isTrue());
        }
    }

    @Test
    void ifTheQueueIsFull_theCallerWithTheMostCallsGivesWay() {
        try (FleetBench bench = limited(1, queue(Map.of("maxWaiting", 3, "maxWaitingPerCaller", 3)))) {
            List<ClientReply> loud = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                loud.add(infer(bench, "loud"));
            }
            ClientReply fifth = infer(bench, "quiet");
            bench.run();

            assertThat(loud.getLast().failure()).hasMessage("upstream 'triton' has too many waiting calls (limit 3)");
            assertThat(refused(bench, "displaced")).isOne();
            ClientReply sixth = infer(bench, "other");
            bench.run();
            ClientReply seventh = infer(bench, "third");
            assertThat(seventh.failure()).hasMessage("upstream 'triton' has too many waiting calls (limit 3)");
            assertThat(refused(bench, "full")).isOne();
            answerAll(bench);
            assertThat(fifth.complete).isTrue();
            assertThat(sixth.complete).isTrue();
        }
    }

    @Test
    void reservedPlaces_areForCallersWithFewCalls() {
        try (FleetBench bench = limited(20, queue(Map.of("reserved", 0.1)))) {
            List<ClientReply> loud = new ArrayList<>();
            for (int i = 0; i < 25; i++) {
                loud.add(infer(bench, "loud"));
            }
            assertThat(bench.one.requests).hasSize(18);

            infer(bench, "quiet");
            infer(bench, "other");
            bench.run();
            assertThat(bench.one.requests).hasSize(20);
            assertThat(callers(bench)).endsWith("quietother");
            answerAll(bench);
            assertThat(loud).allSatisfy(reply -> assertThat(reply.complete).isTrue());
        }
    }

    @Test
    void adaptiveLimits_letCallsWait() {
        UpstreamConfig config = TestConfigs.with(
                FleetBench.config(),
                Map.of(
                        "queue",
                        QUEUE,
                        "adaptiveConcurrency",
                        new AdaptiveConcurrency(1, 1, 0.25, Duration.ofMinutes(1))));
        try (FleetBench bench = FleetBench.of(config)) {
            List<ClientReply> replies = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                replies.add(infer(bench, "a"));
            }
            assertThat(bench.requests()).hasSize(2);
            assertThat(waiting(bench)).isEqualTo(3);

            bench.one.last().respond();
            bench.run();
            assertThat(bench.one.requests).hasSize(2);
            assertThat(bench.two.requests).hasSize(1);
            bench.two.last().fail(ErrorCode.INTERNAL, Processed.YES);
            bench.run();
            assertThat(bench.two.requests).hasSize(2);
            // The client leaves, and its server has room again.
            replies.get(2).cancellation.cancel();
            bench.run();
            assertThat(bench.requests()).hasSize(5);
            assertThat(waiting(bench)).isZero();
            replies.forEach(reply -> reply.cancellation.cancel());
            assertThat(bench.count("isthmus.upstream.rejected", "cause", "adaptive_limit"))
                    .isZero();
        }
    }

    @Test
    void streamsDoNotWait_andTheirEndsStartCalls() {
        try (FleetBench bench = limited(1, QUEUE)) {
            UpstreamStream stream = bench.cluster().inferStream(bench.call(), FleetBench.MODEL, new ClientReply());
            ClientReply waits = infer(bench, "a");
            ClientReply events = bench.events(bench.call());
            assertThat(events.failure()).hasMessage("upstream 'triton' has too many concurrent calls (limit 1)");
            assertThat(waits.ended()).isFalse();

            stream.cancel();
            bench.run();

            assertThat(bench.one.requests).hasSize(2);
            bench.one.last().respond();
        }
    }

    @Test
    void requestsInParts_areReadWhenTheyAreSent() {
        try (FleetBench bench = limited(1, QUEUE)) {
            ClientReply first = infer(bench, "a");
            var parts = new UpstreamRequest.InferenceInParts(FleetBench.MODEL, 1 << 20, "");
            ClientReply second = new ClientReply();
            second.cancellation = bench.cluster().send(bench.callOf("b"), parts, second);
            assertThat(parts.isReady()).isFalse();

            bench.one.last().respond();
            bench.run();
            bench.one.last().open();

            assertThat(second.readMore).isPositive();
            assertThat(parts.isReady()).isTrue();
            second.cancellation.cancel();
            assertThat(first.complete).isTrue();
        }
    }

    @Test
    void whatIsNoInference_doesNotWait() {
        try (FleetBench bench = limited(1, QUEUE)) {
            ClientReply first = infer(bench, "a");
            bench.cluster().send(bench.call(), new UpstreamRequest.ServerReadyRequest(), new ClientReply());

            assertThat(bench.one.requests).hasSize(2);
            bench.one.last().reply.complete();
            first.cancellation.cancel();
        }
    }

    @Test
    void ifTheBreakerOpens_waitingCallsFail() {
        UpstreamConfig config = TestConfigs.with(
                FleetBench.breaking(new Breaker(0.5, 10, 1, Duration.ofSeconds(5))),
                Map.of("maxRequests", 1, "queue", QUEUE));
        try (FleetBench bench = FleetBench.ofOne(config)) {
            infer(bench, "a");
            ClientReply second = infer(bench, "b");
            ClientReply third = infer(bench, "c");

            bench.one.last().fail(ErrorCode.UNAVAILABLE, Processed.MAYBE);
            bench.run();

            assertThat(second.failure().message()).contains("circuit breaker open");
            assertThat(third.failure().message()).contains("circuit breaker open");
            assertThat(waiting(bench)).isZero();
        }
    }

    @Test
    void closing_failsWhatWaits() {
        try (FleetBench bench = limited(1, QUEUE)) {
            ClientReply first = infer(bench, "a");
            ClientReply second = infer(bench, "b");

            bench.closeCluster();
            bench.run();

            assertThat(second.failure()).hasMessage("upstream 'triton' was taken out of service");
            ClientReply third = infer(bench, "c");
            assertThat(third.failure()).hasMessage("upstream 'triton' was taken out of service");
            first.cancellation.cancel();
        }
    }

    @Test
    void withoutTheSection_thereIsNoMeter_andNothingWaits() {
        UpstreamConfig config = TestConfigs.with(FleetBench.config(), Map.of("maxRequests", 1));
        try (FleetBench bench = FleetBench.ofOne(config)) {
            ClientReply first = infer(bench, "a");
            assertThat(infer(bench, "b").failure().message()).contains("too many concurrent calls");
            assertThat(bench.meters.getMeters())
                    .noneMatch(meter -> meter.getId().getName().startsWith("isthmus.upstream.queue"));
            assertThat(bench.cluster().readsPriority()).isFalse();
            first.cancellation.cancel();
        }
    }
}
