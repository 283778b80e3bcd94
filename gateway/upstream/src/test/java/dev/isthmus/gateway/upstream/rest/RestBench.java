package dev.isthmus.gateway.upstream.rest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.upstream.FileShortage;
import dev.isthmus.gateway.upstream.RecordedReply;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.UpstreamBench;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.gateway.upstream.rest.RestUpstream.PoolLimits;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;

/** Upstreams under test; closing fails if one of them, or a request, still holds a buffer. */
final class RestBench implements AutoCloseable {
    static final ModelRef MODEL = ModelRef.of("simple");
    static final int LIMIT = 32 << 20;

    private final UpstreamBench bench;
    /** The pools' clock. */
    final AtomicLong nanoTime = new AtomicLong();

    private final List<RestUpstream> upstreams = new ArrayList<>();
    private final List<ByteBuf> bodies = new ArrayList<>();

    RestBench() {
        this(Transport.best());
    }

    RestBench(Transport transport) {
        this.bench = new UpstreamBench(transport);
    }

    UpstreamBench bench() {
        return bench;
    }

    RestUpstream upstream(Endpoint endpoint) {
        return upstream(PoolLimits.DEFAULT, BinaryTensorData.FALSE, Duration.ofSeconds(60), LIMIT, endpoint);
    }

    RestUpstream upstream(PoolLimits pool, BinaryTensorData binary, Duration timeout, int maxBytes, Endpoint endpoint) {
        return upstream(
                UpstreamSettings.of("triton", endpoint, timeout, Duration.ofSeconds(2), maxBytes), pool, binary);
    }

    RestUpstream upstream(UpstreamSettings settings) {
        return upstream(settings, PoolLimits.DEFAULT, BinaryTensorData.FALSE);
    }

    private RestUpstream upstream(UpstreamSettings settings, PoolLimits pool, BinaryTensorData binary) {
        RestUpstream upstream = new RestUpstream(
                settings,
                new ServerCapabilities(ServerDialect.AUTO, binary, false),
                pool,
                bench.allocator(),
                nanoTime::get);
        upstreams.add(upstream);
        return upstream;
    }

    ByteBuf buffer(byte[] bytes) {
        return bench.allocator().directBuffer(Math.max(bytes.length, 1)).writeBytes(bytes);
    }

    /** An inference with a small JSON body. */
    RecordedReply infer(RestUpstream upstream) {
        return infer(upstream, bench.call(), buffer("{\"inputs\":[]}".getBytes(StandardCharsets.UTF_8)), -1);
    }

    RecordedReply infer(RestUpstream upstream, Call call) {
        return infer(upstream, call, buffer(new byte[] {'{', '}'}), -1);
    }

    RecordedReply infer(RestUpstream upstream, Call call, ByteBuf body, long jsonLength) {
        return infer(upstream, call, MODEL, body, jsonLength);
    }

    RecordedReply infer(RestUpstream upstream, Call call, ModelRef model, ByteBuf body, long jsonLength) {
        bodies.add(body);
        var message = new InferMessage.RestMessage(new RestBody(body, jsonLength));
        return bench.send(reply -> upstream.send(call, new UpstreamRequest.InferenceRequest(model, message), reply));
    }

    RecordedReply modelReady(RestUpstream upstream, String model) {
        UpstreamRequest request = new UpstreamRequest.ModelReadyRequest(ModelRef.of(model));
        return bench.send(reply -> upstream.send(bench.call(), request, reply));
    }

    /** An inference with a reply between the call and what records it. */
    RecordedReply inferWith(RestUpstream upstream, UnaryOperator<Reply> between) {
        var message = new InferMessage.RestMessage(new RestBody(buffer(new byte[] {'{', '}'}), -1));
        return bench.send(reply -> upstream.send(
                bench.call(), new UpstreamRequest.InferenceRequest(MODEL, message), between.apply(reply)));
    }

    /** An inference that begins on the event loop right after this. */
    RecordedReply inferAfter(RestUpstream upstream, Runnable before) {
        var message = new InferMessage.RestMessage(new RestBody(buffer(new byte[] {'{', '}'}), -1));
        return bench.send(reply -> {
            before.run();
            return upstream.send(bench.call(), new UpstreamRequest.InferenceRequest(MODEL, message), reply);
        });
    }

    /** An inference that is cancelled right after it has begun. */
    void cancelledInfer(RestUpstream upstream) {
        var message = new InferMessage.RestMessage(new RestBody(buffer(new byte[] {'{', '}'}), -1));
        bench.send(reply -> {
            Subscription started =
                    upstream.send(bench.call(), new UpstreamRequest.InferenceRequest(MODEL, message), reply);
            started.cancel();
            return started;
        });
    }

    /** An inference that begins while no file can be opened. */
    RecordedReply inferWithoutFiles(RestUpstream upstream) {
        var message = new InferMessage.RestMessage(new RestBody(buffer(new byte[] {'{', '}'}), -1));
        return bench.send(reply -> {
            try (var _ = FileShortage.begin()) {
                return upstream.send(bench.call(), new UpstreamRequest.InferenceRequest(MODEL, message), reply);
            }
        });
    }

    /** The response body, whose buffer is released. */
    static byte[] bytes(RecordedReply reply) throws Exception {
        ByteBuf content = body(reply).content();
        byte[] bytes = ByteBufUtil.getBytes(content);
        content.release();
        return bytes;
    }

    static String text(RecordedReply reply) throws Exception {
        return new String(bytes(reply), StandardCharsets.UTF_8);
    }

    /** The response body, owned by the caller. */
    static RestBody body(RecordedReply reply) throws Exception {
        return ((InferMessage.RestMessage) reply.inference()).body();
    }

    @Override
    public void close() {
        upstreams.forEach(RestUpstream::close);
        bench.close();
        assertThat(bodies).allSatisfy(body -> assertThat(body.refCnt()).isZero());
    }
}
