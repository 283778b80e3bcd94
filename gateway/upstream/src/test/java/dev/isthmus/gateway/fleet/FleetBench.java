package dev.isthmus.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Principal;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.settings.AccessConfig.IdentifiedBy;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.settings.UpstreamConfig.Retry;
import dev.isthmus.gateway.settings.UpstreamConfig.RetryOn;
import dev.isthmus.gateway.upstream.FakeUpstream;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.Wire;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A cluster of fake servers, whose clock and event loop a test advances. */
final class FleetBench implements AutoCloseable {
    static final ModelRef MODEL = ModelRef.of("simple");
    static final Retry RETRY = Retry.DEFAULT;

    final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    final FakeUpstream one = new FakeUpstream();
    final FakeUpstream two = new FakeUpstream();
    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final List<ByteBuf> bodies = new ArrayList<>();
    private final UpstreamConfig config;
    private final Cluster cluster;
    private long now = 1_000;
    private boolean closed;

    /** What a client receives. */
    static final class ClientReply implements Reply {
        final List<ReplyMessage> messages = new ArrayList<>();
        final Map<String, String> headers = new HashMap<>();

        @Nullable
        OipException failure;

        boolean complete;
        /** How often the request became ready for more data. */
        int readMore;

        boolean writable = true;
        Subscription cancellation = Subscription.NONE;

        @Override
        public void headers(Map<String, String> more) {
            headers.putAll(more);
        }

        @Override
        public void message(ReplyMessage response) {
            messages.add(response);
            response.release();
        }

        @Override
        public void onReady() {
            readMore++;
        }

        @Override
        public boolean acceptsParts(Wire wire, long length) {
            return true;
        }

        @Override
        public boolean isReady() {
            return writable;
        }

        @Override
        public void complete() {
            assertThat(ended()).isFalse();
            complete = true;
        }

        @Override
        public void fail(OipException why) {
            assertThat(ended()).isFalse();
            failure = why;
        }

        boolean ended() {
            return complete || failure != null;
        }

        OipException failure() {
            assertThat(failure).isNotNull();
            return java.util.Objects.requireNonNull(failure);
        }
    }

    private FleetBench(UpstreamConfig config, int servers) {
        this.config = config;
        Endpoint[] endpoints = Stream.of(new Endpoint("127.0.0.1", 1), new Endpoint("127.0.0.1", 2))
                .limit(servers)
                .toArray(Endpoint[]::new);
        ReplicaSet replicas = UncheckedReplicas.replicas(
                at -> at.address().port() == 1 ? one : two, meters, () -> now, config.adaptiveConcurrency(), endpoints);
        cluster = new Cluster("triton", config, ServerCapabilities.unknown(), replicas, () -> {});
        channel.freezeTime();
    }

    static FleetBench of(UpstreamConfig config) {
        return new FleetBench(config, 2);
    }

    static FleetBench ofOne(UpstreamConfig config) {
        return new FleetBench(config, 1);
    }

    static UpstreamConfig config() {
        return TestConfigs.upstream(UpstreamProtocol.GRPC);
    }

    static UpstreamConfig retrying(Retry retry) {
        return TestConfigs.with(config(), Map.of("retry", retry));
    }

    static UpstreamConfig retryingOn(RetryOn... on) {
        return retrying(new Retry(1, Set.of(on), 0.2, RETRY.maxBody()));
    }

    static UpstreamConfig breaking(UpstreamConfig.Breaker breaker) {
        return TestConfigs.with(config(), Map.of("breaker", breaker));
    }

    Cluster cluster() {
        return cluster;
    }

    /** All requests to both servers, in no order. */
    List<FakeUpstream.ReceivedRequest> requests() {
        return Stream.concat(one.requests.stream(), two.requests.stream()).toList();
    }

    /** The only pending request, which must be the latest. */
    FakeUpstream.ReceivedRequest onlyNew(List<FakeUpstream.ReceivedRequest> before) {
        List<FakeUpstream.ReceivedRequest> fresh = requests().stream()
                .filter(received -> !before.contains(received))
                .toList();
        assertThat(fresh).hasSize(1);
        return fresh.getFirst();
    }

    Call call() {
        return new Call(
                new Operation.ServerReady(),
                Call.NO_DEADLINE,
                Map.of(),
                channel.eventLoop(),
                UnpooledByteBufAllocator.DEFAULT);
    }

    /** On the scale of deadlines. */
    long now() {
        return now;
    }

    Call callWithin(long millis) {
        return call().withDeadline(now + TimeUnit.MILLISECONDS.toNanos(millis));
    }

    InferMessage message(int size) {
        ByteBuf body = UnpooledByteBufAllocator.DEFAULT.buffer(size).writeZero(size);
        bodies.add(body);
        return new InferMessage.ProtobufMessage(body);
    }

    ByteBuf body() {
        return ((InferMessage.ProtobufMessage) message(10)).message();
    }

    /** The reference count of the last request. */
    int held() {
        return bodies.getLast().refCnt();
    }

    /** A call of an identified client. */
    Call callOf(String caller, String... groups) {
        Call call = call();
        call.context().authenticated(new Principal(caller, Set.of(groups), Map.of(), IdentifiedBy.API_KEY));
        return call;
    }

    ClientReply infer() {
        return infer(call(), 10);
    }

    ClientReply infer(Call call, int size) {
        return infer(call, MODEL, size);
    }

    ClientReply infer(Call call, ModelRef model, int size) {
        ClientReply seen = new ClientReply();
        seen.cancellation = cluster.send(call, new UpstreamRequest.InferenceRequest(model, message(size)), seen);
        return seen;
    }

    ClientReply events(Call call) {
        ClientReply seen = new ClientReply();
        seen.cancellation =
                cluster.send(call, new UpstreamRequest.InferenceRequest(MODEL, message(10), "", true), seen);
        return seen;
    }

    /** Runs what the event loop was given. */
    void run() {
        channel.runPendingTasks();
    }

    void advance(long millis) {
        now += TimeUnit.MILLISECONDS.toNanos(millis);
        channel.advanceTimeBy(millis, TimeUnit.MILLISECONDS);
        channel.runScheduledPendingTasks();
    }

    double count(String meter, String tag, String value) {
        return meters.get(meter).tag(tag, value).counter().count();
    }

    long tries(CallOutcome outcome) {
        return timer(outcome).count();
    }

    /** The total duration of all attempts with this outcome. */
    double millis(CallOutcome outcome) {
        return timer(outcome).totalTime(TimeUnit.MILLISECONDS);
    }

    private Timer timer(CallOutcome outcome) {
        return meters.get("isthmus.upstream.requests")
                .tag("outcome", outcome.label())
                .timer();
    }

    double gauge(String meter) {
        return meters.get(meter).gauge().value();
    }

    int maxRequests() {
        return config.maxRequests();
    }

    /** Closes the cluster before the bench. */
    void closeCluster() {
        closed = true;
        cluster.close();
        assertThat(meters.getMeters()).isEmpty();
    }

    @Override
    public void close() {
        assertThat(bodies).allSatisfy(body -> assertThat(body.refCnt()).isZero());
        if (!closed) {
            assertThat(gauge("isthmus.upstream.under.way")).isZero();
            closeCluster();
        }
        channel.finishAndReleaseAll();
    }
}
