package dev.isthmus.gateway.warm;

import com.sun.management.OperatingSystemMXBean;
import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.memory.BufferAllocators;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.gateway.upstream.grpc.GrpcUpstream;
import dev.isthmus.gateway.upstream.rest.RestUpstream;
import dev.isthmus.gateway.upstream.rest.RestUpstream.PoolLimits;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.Wire;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The requests of a warm-up: small and large, over every path through a gateway with upstreams of both protocols, in
 * equal rounds.
 */
final class WarmUpWorkload {
    private static final int SMALL_PER_ROUND = 200;
    private static final int TEXT_PER_ROUND = 2;
    private static final int IMAGE_PER_ROUND = 4;
    private static final Duration TIMEOUT = Duration.ofSeconds(10);

    private final List<LoadLoop> loadLoops = new ArrayList<>();
    private final EventLoop loop;
    private final ByteBufAllocator allocator;

    private WarmUpWorkload(EventLoop loop, ByteBufAllocator allocator) {
        this.loop = loop;
        this.allocator = allocator;
    }

    /**
     * Runs rounds until the state is steady or the limit is reached. Blocks; releases everything it used.
     *
     * @param detector detects the steady state
     * @return the number of responses
     */
    static int run(SteadyStateDetector detector, TimeLimit limit, WarmUpPacing pacing) throws Exception {
        Transport transport = Transport.best();
        // Its own allocator: an allocator caches memory, which ends with this one.
        ByteBufAllocator allocator = BufferAllocators.fresh();
        EventLoopGroup loops = new MultiThreadIoEventLoopGroup(
                1, new DefaultThreadFactory("isthmus-warm-loop", true), transport.ioHandlerFactory());
        try (TensorSizes sizes = new TensorSizes();
                EchoServer echo = new EchoServer(transport, loops, allocator, sizes);
                Gateway gateway = Gateway.start(config(echo.port()), allocator)) {
            int port = gateway.addresses().get(0).getPort();
            UpstreamSettings settings = UpstreamSettings.of(
                    "warm-up", new Endpoint("127.0.0.1", port), TIMEOUT, TIMEOUT, WarmUpMessages.MAX_BYTES);
            try (Upstream rest =
                            new RestUpstream(settings, ServerCapabilities.unknown(), PoolLimits.DEFAULT, allocator);
                    Upstream grpc = new GrpcUpstream(settings, ServerCapabilities.unknown(), allocator)) {
                WarmUpWorkload workload = new WarmUpWorkload(loops.next(), allocator);
                workload.addAll(rest, grpc, sizes);
                return workload.rounds(detector, limit, pacing);
            }
        } finally {
            loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    private static GatewayConfig config(int port) throws Exception {
        String text = """
                listeners: [{host: 127.0.0.1, port: 0}]
                upstreams:
                  grpc: {protocol: grpc, endpoints: ["127.0.0.1:%1$d"]}
                  passing: {protocol: grpc, endpoints: ["127.0.0.1:%1$d"], retry: {retries: 0}}
                  rest: {protocol: rest, endpoints: ["127.0.0.1:%1$d"], binary_tensor_data: true}
                models: {passing: {upstream: passing}, rest: {upstream: rest}}
                default_upstream: grpc
                """.formatted(port);
        return ConfigLoader.parse("warm-up", text, Path.of("."));
    }

    /** Large requests are buffered if they may be retried, and forwarded in parts if not. */
    private void addAll(Upstream rest, Upstream grpc, TensorSizes sizes) {
        for (ModelRef model : List.of(ModelRef.of("grpc"), ModelRef.of("rest"))) {
            add(rest, model, sizes.small().request(model, Wire.REST, false), SMALL_PER_ROUND);
            add(rest, model, sizes.small().request(model, Wire.REST, true), SMALL_PER_ROUND);
            add(grpc, model, sizes.small().request(model, Wire.PROTOBUF, false), SMALL_PER_ROUND);
            add(rest, model, sizes.text().request(model, Wire.REST, false), TEXT_PER_ROUND);
        }
        for (ModelRef model : List.of(ModelRef.of("grpc"), ModelRef.of("rest"), ModelRef.of("passing"))) {
            add(rest, model, sizes.image().request(model, Wire.REST, true), IMAGE_PER_ROUND);
            add(grpc, model, sizes.image().request(model, Wire.PROTOBUF, false), IMAGE_PER_ROUND);
        }
    }

    private void add(Upstream client, ModelRef model, InferMessage request, int times) {
        loadLoops.add(new LoadLoop(client, model, request, times, allocator));
    }

    private int rounds(SteadyStateDetector detector, TimeLimit limit, WarmUpPacing pacing) throws Exception {
        try {
            int requests = 0;
            boolean whole;
            long elapsed;
            do {
                long start = System.nanoTime();
                for (LoadLoop loadLoop : loadLoops) {
                    requests += loadLoop.run(loop, limit.remainingNanos(), pacing);
                }
                elapsed = System.nanoTime() - start;
                whole = !pacing.pauses();
                JitThreads.await(limit);
                pacing.rest(System.nanoTime() - start, limit);
                pacing.awaitIdle(limit);
            } while (!limit.reached() && !(whole && detector.steady(elapsed)));
            return requests;
        } finally {
            // On the loop, after a run that timed out was stopped there.
            loop.submit(() -> loadLoops.forEach(LoadLoop::release)).sync();
        }
    }

    /** Observes the JIT compiler threads by the CPU time of the process. */
    static final class JitThreads {
        private static final long SAMPLE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
        private static final long MAX_WAIT_NANOS = TimeUnit.SECONDS.toNanos(2);
        /** Below this share of a processor they are considered idle. */
        private static final double IDLE_SHARE = 0.3;

        private JitThreads() {}

        /**
         * Waits until they are idle: on few processors, requests sent meanwhile would compete with them for CPU time. Waits
         * only briefly, because the gateway may be serving, too.
         */
        static void await(TimeLimit limit) throws InterruptedException {
            var process = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
            long time = System.nanoTime();
            long end = time + MAX_WAIT_NANOS;
            long used = process.getProcessCpuTime();
            double share;
            do {
                TimeUnit.NANOSECONDS.sleep(SAMPLE_NANOS);
                long timeNow = System.nanoTime();
                long usedNow = process.getProcessCpuTime();
                share = (double) (usedNow - used) / (timeNow - time);
                time = timeNow;
                used = usedNow;
            } while (share > IDLE_SHARE && time < end && !limit.reached());
        }
    }
}
