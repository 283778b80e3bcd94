package dev.isthmus.gateway.warm;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.config.ConfigLoader;
import dev.isthmus.gateway.config.Endpoint;
import dev.isthmus.gateway.config.GatewayConfig;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.upstream.PeerKnowledge;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.gateway.upstream.grpc.GrpcUpstream;
import dev.isthmus.gateway.upstream.rest.PoolLimits;
import dev.isthmus.gateway.upstream.rest.RestUpstream;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.Wire;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The requests of a warm-up: all ways through a gateway with two upstreams, small and large, in equal rounds. */
final class Exercise {
    private static final int SMALL = 16;
    private static final int SMALL_A_ROUND = 500;
    private static final int LARGE = 20_000;
    private static final int LARGE_A_ROUND = 4;
    private static final Duration TIMEOUT = Duration.ofSeconds(10);

    private final List<Errand> errands;
    private final EventLoop loop;

    private Exercise(Upstream rest, Upstream grpc, EventLoop loop) {
        this.loop = loop;
        this.errands = errands(rest, grpc);
    }

    /**
     * Exercises until it is steady or late. Blocks; leaves nothing behind.
     *
     * @param pace tells when it is steady
     * @param endNanos as {@link System#nanoTime()}
     * @return requests that were answered
     */
    static int run(Pace pace, long endNanos) throws Exception {
        Transport transport = Transport.best();
        EventLoopGroup loops = new MultiThreadIoEventLoopGroup(
                1, new DefaultThreadFactory("isthmus-warm-loop", true), transport.ioHandlerFactory());
        try (Echo echo = new Echo(transport, loops, new Messages(SMALL), new Messages(LARGE));
                Gateway gateway = Gateway.start(config(echo.port()))) {
            int port = gateway.addresses().get(0).getPort();
            UpstreamSettings settings = UpstreamSettings.of(
                    "warm-up", new Endpoint("127.0.0.1", port), TIMEOUT, TIMEOUT, Messages.MOST_BYTES);
            try (Upstream rest = new RestUpstream(
                            settings, PeerKnowledge.unknown(), PoolLimits.DEFAULT, ByteBufAllocator.DEFAULT);
                    Upstream grpc = new GrpcUpstream(settings, PeerKnowledge.unknown(), ByteBufAllocator.DEFAULT)) {
                return new Exercise(rest, grpc, loops.next()).rounds(pace, endNanos);
            }
        } finally {
            loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    private static GatewayConfig config(int port) throws Exception {
        String text = """
                listeners: [{host: 127.0.0.1, port: 0}]
                upstreams:
                  grpc: {protocol: grpc, endpoints: ["127.0.0.1:%1$d"], retry: {retries: 0}}
                  rest: {protocol: rest, endpoints: ["127.0.0.1:%1$d"], retry: {retries: 0}, binary_tensor_data: true}
                models: {grpc: {upstream: grpc}, rest: {upstream: rest}}
                """.formatted(port);
        return ConfigLoader.parse("warm-up", text, Path.of("."));
    }

    private static List<Errand> errands(Upstream rest, Upstream grpc) {
        List<Errand> all = new ArrayList<>();
        for (String model : List.of("grpc", "rest")) {
            ModelRef ref = ModelRef.of(model);
            for (Messages size : List.of(new Messages(SMALL), new Messages(LARGE))) {
                int times = size.tensorBytes() == SMALL * Float.BYTES ? SMALL_A_ROUND : LARGE_A_ROUND;
                all.add(new Errand(rest, ref, size.request(ref, Wire.REST, false), times));
                all.add(new Errand(rest, ref, size.request(ref, Wire.REST, true), times));
                all.add(new Errand(grpc, ref, size.request(ref, Wire.PROTOBUF, false), times));
            }
        }
        return all;
    }

    private int rounds(Pace pace, long endNanos) throws Exception {
        try {
            int requests = 0;
            long took;
            do {
                long begun = System.nanoTime();
                for (Errand errand : errands) {
                    requests += errand.run(loop, endNanos - System.nanoTime());
                }
                took = System.nanoTime() - begun;
                Compilers.await(endNanos);
            } while (System.nanoTime() < endNanos && !pace.steady(took));
            return requests;
        } finally {
            // On the loop, where a run that was late has been stopped before.
            loop.submit(() -> errands.forEach(Errand::release)).sync();
        }
    }
}
