package dev.isthmus.gateway.upstream.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.http2.AbusePolicy;
import dev.isthmus.gateway.net.ConnectionTable;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.gateway.upstream.RecordedReply;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.UpstreamBench;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.gateway.upstream.grpc.GrpcConnectionPool.ConnectionRules;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.InferMessage;
import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntPredicate;

/** Sequential calls of one upstream; closing fails if a buffer is still held. */
final class GrpcUpstreamCalls implements AutoCloseable {
    /** The response header that clients get. */
    static final String RETURNED = "x-shown";

    static final Duration LONG = Duration.ofSeconds(60);
    private static final ModelRef MODEL = ModelRef.of("simple");

    final UpstreamBench bench = new UpstreamBench();
    private final List<GrpcUpstream> upstreams = new ArrayList<>();
    private final List<ByteBuf> bodies = new ArrayList<>();

    GrpcUpstream to(Endpoint endpoint) {
        return to(endpoint, ConnectionRules.of(LONG));
    }

    GrpcUpstream to(Endpoint endpoint, ConnectionRules rules) {
        return to(endpoint, rules, 1000);
    }

    /** @param most bytes of a response */
    GrpcUpstream to(Endpoint endpoint, ConnectionRules rules, int most) {
        return to(endpoint, rules, most, bench.allocator());
    }

    /** @param lacking takes the largest capacities for which there is no memory */
    GrpcUpstream withoutMemory(Endpoint endpoint, IntPredicate lacking) {
        return to(endpoint, ConnectionRules.of(LONG), 1000, new AbstractByteBufAllocator(true) {
            @Override
            protected ByteBuf newHeapBuffer(int initial, int largest) {
                return bench.allocator().heapBuffer(initial, largest);
            }

            @Override
            protected ByteBuf newDirectBuffer(int initial, int largest) {
                if (lacking.test(largest)) {
                    throw new OutOfMemoryError("of memory outside the heap");
                }
                return bench.allocator().directBuffer(initial, largest);
            }

            @Override
            public boolean isDirectBufferPooled() {
                return true;
            }
        });
    }

    private GrpcUpstream to(Endpoint endpoint, ConnectionRules rules, int most, ByteBufAllocator allocator) {
        var settings = new UpstreamSettings(
                "triton",
                endpoint,
                endpoint.authority(),
                "",
                null,
                LONG,
                Duration.ofSeconds(5),
                most,
                most,
                HeaderAllowList.of(List.of(RETURNED)),
                AbusePolicy.NONE,
                new ConnectionTable(),
                () -> false);
        GrpcUpstream upstream = new GrpcUpstream(settings, ServerCapabilities.unknown(), rules, allocator);
        upstreams.add(upstream);
        return upstream;
    }

    RecordedReply infer(GrpcUpstream upstream) {
        return infer(upstream, bench.call(), 1);
    }

    RecordedReply infer(GrpcUpstream upstream, Call call, int bytes) {
        return infer(upstream, call, bytes, false);
    }

    /** @param events whether there may be any number of responses */
    RecordedReply infer(GrpcUpstream upstream, Call call, int bytes, boolean events) {
        ByteBuf body = bench.allocator().directBuffer(bytes).writeZero(bytes);
        bodies.add(body);
        return bench.send(reply -> upstream.send(
                call,
                new UpstreamRequest.InferenceRequest(MODEL, new InferMessage.ProtobufMessage(body), "", events),
                reply));
    }

    @Override
    public void close() {
        upstreams.forEach(GrpcUpstream::close);
        try (bench) {
            bench.awaitNothingHeld();
        }
        assertThat(bodies).allSatisfy(body -> assertThat(body.refCnt()).isZero());
    }
}
