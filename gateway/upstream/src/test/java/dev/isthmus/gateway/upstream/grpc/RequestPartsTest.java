package dev.isthmus.gateway.upstream.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.gateway.upstream.RecordedReply;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.UpstreamBench;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import io.netty.buffer.Unpooled;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests written to a server's call in parts. */
class RequestPartsTest {
    private static final ModelRef MODEL = ModelRef.of("m");

    private final UpstreamBench bench = new UpstreamBench();
    private final List<GrpcUpstream> upstreams = new ArrayList<>();

    @AfterEach
    void nothingIsHeld() {
        upstreams.forEach(GrpcUpstream::close);
        try (bench) {
            bench.awaitNothingHeld();
        }
    }

    private GrpcUpstream upstream(Endpoint endpoint) {
        var settings = UpstreamSettings.of("triton", endpoint, Duration.ofSeconds(60), Duration.ofSeconds(2), 32 << 20);
        GrpcUpstream upstream = new GrpcUpstream(settings, ServerCapabilities.unknown(), bench.allocator());
        upstreams.add(upstream);
        return upstream;
    }

    /** Writes a message in parts of one size, whenever the sink is ready. */
    private static final class Sender implements Reply, Subscription {
        private final Reply reply;
        private final byte[] message;
        private final int part;
        private final UpstreamRequest.InferenceInParts parts;
        private Subscription inFlight = Subscription.NONE;
        private int at;
        private boolean over;

        Sender(Reply reply, byte[] message, int part, long length) {
            this.reply = reply;
            this.parts = new UpstreamRequest.InferenceInParts(MODEL, length, "");
            this.message = message;
            this.part = part;
        }

        Subscription to(GrpcUpstream upstream, Call call) {
            inFlight = upstream.send(call, parts, this).cancelIf(over);
            return this;
        }

        @Override
        public void onReady() {
            while (!over && at < message.length && parts.isReady()) {
                int length = Math.min(part, message.length - at);
                parts.data(Unpooled.wrappedBuffer(message, at, length));
                at += length;
                if (at == message.length) {
                    parts.end();
                }
            }
        }

        @Override
        public void message(ReplyMessage response) {
            reply.message(response);
        }

        @Override
        public void complete() {
            over = true;
            reply.complete();
        }

        @Override
        public void fail(OipException failure) {
            over = true;
            reply.fail(failure);
        }

        @Override
        public void cancel() {
            over = true;
            inFlight.cancel();
        }
    }

    private RecordedReply infer(GrpcUpstream upstream, byte[] message, int part, long length) {
        return bench.send(reply -> new Sender(reply, message, part, length).to(upstream, bench.call()));
    }

    private static byte[] random(int size) {
        byte[] bytes = new byte[size];
        new Random(size).nextBytes(bytes);
        return bytes;
    }

    @ParameterizedTest
    @ValueSource(ints = {7, 1000, 100_000, 1 << 22})
    void message_arrivesWhole(int part) throws Exception {
        byte[] message = random(part == 7 ? 10_000 : 3_000_001);
        try (var server = FakeGrpcServer.echo()) {
            RecordedReply reply = infer(upstream(server.endpoint()), message, part, message.length);
            assertThat(Arrays.equals(server.request(), message)).isTrue();
            assertThat(Arrays.equals(reply.protobuf(), message)).isTrue();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 1})
    void messageOfAnotherLength_isNeverEnded(int more) throws Exception {
        byte[] message = random(100_000);
        try (var server = FakeGrpcServer.echo()) {
            OipException failure = infer(upstream(server.endpoint()), message, message.length, message.length - more)
                    .failure();
            assertThat(failure.code()).isEqualTo(ErrorCode.INTERNAL);
            server.awaitCancelled();
            assertThat(server.requests()).isZero();
        }
    }

    @Test
    void serverThatCannotBeReached_failsTheCall_beforeAnyPart() throws Exception {
        OipException failure = infer(upstream(TestConfigs.unusedEndpoint()), random(10), 10, 10)
                .failure();
        assertThat(failure.processed()).isEqualTo(OipException.Processed.NO);
    }

    @Test
    void cancel_halfWay_reachesTheServer() throws Exception {
        try (var server = FakeGrpcServer.silent()) {
            GrpcUpstream upstream = upstream(server.endpoint());
            RecordedReply reply = bench.send(recorded ->
                    upstream.send(bench.call(), new UpstreamRequest.InferenceInParts(MODEL, 2000, ""), recorded));
            server.headers();
            reply.cancel();
            server.awaitCancelled();
            assertThat(server.requests()).isZero();
        }
    }
}
