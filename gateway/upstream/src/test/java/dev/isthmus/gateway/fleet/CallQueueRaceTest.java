package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Principal;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.settings.AccessConfig.IdentifiedBy;
import dev.isthmus.gateway.settings.AdaptiveConcurrency;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.QueueConfig;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.rest.RestBody;
import io.grpc.ServerCall;
import io.grpc.StatusRuntimeException;
import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Callers on several event loops and real servers, with more calls than may be under way. */
class CallQueueRaceTest {
    private static final int LOOPS = 3;
    private static final int CALLS = 600;
    private static final int LIMIT = 4;
    private static final Duration PATIENCE = Duration.ofMinutes(2);

    private final ClusterBench fleet = new ClusterBench();
    private final MultiThreadIoEventLoopGroup group =
            new MultiThreadIoEventLoopGroup(LOOPS, Transport.best().ioHandlerFactory());
    private final AtomicInteger atOnce = new AtomicInteger();
    private final AtomicInteger most = new AtomicInteger();
    private final AtomicInteger answered = new AtomicInteger();
    private final AtomicInteger refused = new AtomicInteger();
    private final AtomicInteger left = new AtomicInteger();
    private final AtomicInteger misplaced = new AtomicInteger();

    @AfterEach
    void nothingIsHeld() {
        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(fleet.meters
                                .get("isthmus.upstream.under.way")
                                .gauge()
                                .value())
                        .isZero());
        fleet.close();
        group.shutdownGracefully(0, 0, TimeUnit.SECONDS).awaitUninterruptibly();
    }

    private Cluster cluster(UpstreamProtocol protocol, Map<String, Object> changes, Endpoint server) {
        Map<String, Object> all = new HashMap<>(changes);
        all.put("timeout", PATIENCE);
        all.put("maxRequests", LIMIT);
        return fleet.cluster(TestConfigs.with(TestConfigs.upstream(protocol, server), all), System::nanoTime, server);
    }

    /** A queue that takes all calls, with enough time on a machine that is busy. */
    private static QueueConfig queue(int maxWaiting) {
        return new QueueConfig(
                maxWaiting, maxWaiting, Duration.ofMinutes(1), 0.25, Map.of("c1", 4), Map.of(), Map.of("m1", 2), 2);
    }

    /** One call, on one of the loops. */
    private final class RacingCall implements Reply {
        private final EventLoop loop;
        private final boolean leaves;
        private boolean ended;
        private @Nullable Future<?> leaving;
        private Subscription subscription = Subscription.NONE;

        RacingCall(EventLoop loop, boolean leaves) {
            this.loop = loop;
            this.leaves = leaves;
        }

        void start(Cluster cluster, int number, long leavesAfterMicros) {
            Call call = new Call(
                    new Operation.ServerReady(),
                    Call.NO_DEADLINE,
                    Map.of(),
                    loop,
                    fleet.bench().allocator());
            call.context().authenticated(new Principal("c" + number % 3, Set.of(), Map.of(), IdentifiedBy.API_KEY));
            byte[] request = ("{\"id\":\"" + number + "\"}").getBytes(StandardCharsets.US_ASCII);
            ByteBuf body = fleet.bench().allocator().directBuffer().writeBytes(request);
            InferMessage message = switch (cluster.peer().wire()) {
                case PROTOBUF -> new InferMessage.ProtobufMessage(body);
                case REST -> new InferMessage.RestMessage(new RestBody(body, RestBody.ALL_JSON));
                case DECODED -> throw new AssertionError("no cluster is local");
            };
            subscription = cluster.send(
                    call, new UpstreamRequest.InferenceRequest(ModelRef.of("m" + number % 2), message), this);
            if (leaves) {
                leaving = loop.schedule(this::leave, leavesAfterMicros, TimeUnit.MICROSECONDS);
            }
        }

        private void leave() {
            if (!ended) {
                ended = true;
                subscription.cancel();
                left.incrementAndGet();
            }
        }

        @Override
        public void message(ReplyMessage message) {
            message.release();
        }

        @Override
        public void complete() {
            end(answered);
        }

        @Override
        public void fail(OipException failure) {
            end(refused);
        }

        private void end(AtomicInteger how) {
            if (ended || !loop.inEventLoop()) {
                misplaced.incrementAndGet();
            }
            ended = true;
            if (leaving != null) {
                leaving.cancel(false);
            }
            how.incrementAndGet();
        }
    }

    private void race(Cluster cluster, boolean leaving) {
        Random random = new Random(20_261_126);
        for (int i = 0; i < CALLS; i++) {
            EventLoop loop = group.next();
            RacingCall call = new RacingCall(loop, leaving && random.nextInt(3) == 0);
            int number = i;
            long after = random.nextInt(20_000);
            loop.execute(() -> call.start(cluster, number, after));
        }
        await().atMost(PATIENCE).until(() -> answered.get() + refused.get() + left.get() == CALLS);
        assertThat(misplaced).hasValue(0);
        assertThat(fleet.meters.get("isthmus.upstream.queue.waiting").gauge().value())
                .isZero();
    }

    private void count() {
        most.accumulateAndGet(atOnce.incrementAndGet(), Math::max);
    }

    /** Answers on another thread, so that other calls may come meanwhile. */
    private FakeGrpcServer grpc() throws Exception {
        return FakeGrpcServer.unary((request, call) -> {
            count();
            Thread.startVirtualThread(() -> {
                atOnce.decrementAndGet();
                respondUnlessCancelled(call, request);
            });
        });
    }

    private static void respondUnlessCancelled(ServerCall<byte[], byte[]> call, byte[] request) {
        try {
            FakeGrpcServer.respond(call, request);
        } catch (StatusRuntimeException | IllegalStateException cancelled) {
            assertThat(call.isCancelled()).isTrue();
        }
    }

    @Test
    void overGrpc_allAreAnswered_andNeverMoreAtOnceThanTheLimit() throws Exception {
        try (var server = grpc()) {
            race(cluster(UpstreamProtocol.GRPC, Map.of("queue", queue(CALLS)), server.endpoint()), false);
        }
        assertThat(answered).hasValue(CALLS);
        assertThat(most.get()).isBetween(1, LIMIT);
    }

    @Test
    void overRest_allAreAnswered_andNeverMoreAtOnceThanTheLimit() throws Exception {
        try (var server = FakeRestServer.that((request, out) -> {
            count();
            atOnce.decrementAndGet();
            FakeRestServer.write(out, FakeRestServer.ok(request.body()));
            return true;
        })) {
            race(cluster(UpstreamProtocol.REST, Map.of("queue", queue(CALLS)), server.endpoint()), false);
        }
        assertThat(answered).hasValue(CALLS);
        assertThat(most.get()).isBetween(1, LIMIT);
    }

    @Test
    void clientsThatLeave_andQueuesThatAreFull_loseNoPlace() throws Exception {
        try (var server = grpc()) {
            Cluster cluster = cluster(UpstreamProtocol.GRPC, Map.of("queue", queue(40)), server.endpoint());
            race(cluster, true);
            assertThat(answered.get()).isPositive();
        }
    }

    @Test
    void atAdaptiveLimits_allAreAnswered() throws Exception {
        try (var server = grpc()) {
            Map<String, Object> changes = Map.of(
                    "queue",
                    queue(CALLS),
                    "adaptiveConcurrency",
                    new AdaptiveConcurrency(1, 2, 0.25, Duration.ofSeconds(1)));
            race(cluster(UpstreamProtocol.GRPC, changes, server.endpoint()), false);
        }
        assertThat(answered).hasValue(CALLS);
    }
}
