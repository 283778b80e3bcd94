package dev.isthmus.gateway.warm;

import com.sun.management.OperatingSystemMXBean;
import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Operation.BodyForm;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.http2.AbusePolicy;
import dev.isthmus.gateway.ingress.IngressServer;
import dev.isthmus.gateway.ingress.IngressSettings;
import dev.isthmus.gateway.ingress.IngressSettings.BodyLimits;
import dev.isthmus.gateway.ingress.ListenerContext;
import dev.isthmus.gateway.memory.BufferAllocators;
import dev.isthmus.gateway.net.ConnectionPolicy;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.StreamMessageForm;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.gateway.upstream.grpc.GrpcUpstream;
import dev.isthmus.gateway.upstream.rest.RestUpstream;
import dev.isthmus.gateway.upstream.rest.RestUpstream.PoolLimits;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The requests of a warm-up: small and large, over every path through a gateway with upstreams of both protocols, in
 * equal rounds.
 */
final class WarmUpWorkload {
    private static final int SMALL_PER_ROUND = 200;
    private static final int TEXT_PER_ROUND = 2;
    private static final int IMAGE_PER_ROUND = 4;
    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    private static final long SAMPLE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final long MAX_WAIT_NANOS = TimeUnit.SECONDS.toNanos(2);
    /** Below this share of a processor the compiler's threads are considered idle. */
    private static final double IDLE_SHARE = 0.3;

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
                awaitCompiler(limit);
                pacing.rest(System.nanoTime() - start, limit);
                pacing.awaitIdle(limit);
            } while (!limit.reached() && !(whole && detector.steady(elapsed)));
            return requests;
        } finally {
            // On the loop, after a run that timed out was stopped there.
            loop.submit(() -> loadLoops.forEach(each -> each.request().release()))
                    .sync();
        }
    }

    /**
     * Waits until the threads of the JIT compiler are idle, by the CPU time of the process: on few processors, requests
     * sent meanwhile would compete with them for it. Waits only briefly, because the gateway may be serving, too.
     */
    private static void awaitCompiler(TimeLimit limit) throws InterruptedException {
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

    /** Sends the same request repeatedly, a few at a time. Owns the request. */
    record LoadLoop(Upstream gateway, ModelRef model, InferMessage request, int times, ByteBufAllocator allocator) {
        private static final int CONCURRENCY = 4;

        /**
         * Sends the requests and waits for the responses, until the timeout, or until it must pause.
         *
         * @param nanos the timeout; 0 or less to skip the run
         * @return the number of requests that were sent
         */
        int run(EventLoop loop, long nanos, WarmUpPacing pacing) throws Exception {
            if (nanos <= 0 || pacing.pauses()) {
                return 0;
            }
            LoadRound round = new LoadRound(loop, pacing);
            loop.execute(round::begin);
            try {
                return round.ended.get(nanos, TimeUnit.NANOSECONDS);
            } catch (TimeoutException late) {
                return loop.submit(round::stop).get();
            }
        }

        /** One run. Used on the loop. */
        private final class LoadRound implements Reply {
            private final CompletableFuture<Integer> ended = new CompletableFuture<>();
            private final EventLoop loop;
            private final WarmUpPacing pacing;
            private int remaining = times;
            private int inFlight;
            private int sent;

            LoadRound(EventLoop loop, WarmUpPacing pacing) {
                this.loop = loop;
                this.pacing = pacing;
            }

            void begin() {
                for (int i = 0; i < CONCURRENCY; i++) {
                    next();
                }
            }

            /** Ends it; returns how many requests were sent. */
            int stop() {
                remaining = 0;
                return sent;
            }

            void next() {
                if (remaining == 0 || pacing.pauses()) {
                    remaining = 0;
                    if (inFlight == 0) {
                        ended.complete(sent);
                    }
                    return;
                }
                remaining--;
                sent++;
                inFlight++;
                Call call = new Call(
                        new Operation.Infer(model, new BodyForm.RestForm(RestBody.ALL_JSON, -1, null), false),
                        Call.NO_DEADLINE,
                        Map.of(),
                        loop,
                        allocator);
                gateway.send(call, new UpstreamRequest.InferenceRequest(model, request.retained()), this);
            }

            @Override
            public void message(ReplyMessage message) {
                message.release();
            }

            /** Continues in a new task: the response may have arrived within {@link #next}. */
            @Override
            public void complete() {
                inFlight--;
                loop.execute(this::next);
            }

            @Override
            public void fail(OipException failure) {
                remaining = 0;
                ended.completeExceptionally(failure);
            }
        }
    }

    /**
     * The upstream server of the warm-up: serves every model, and responds with a tensor of the request's size on the
     * request's wire.
     */
    static final class EchoServer implements AutoCloseable {
        private static final ServerMetadata SELF = new ServerMetadata("warm-up", "1", List.of("binary_tensor_data"));
        private static final IngressSettings SETTINGS = new IngressSettings(
                BodyLimits.of(WarmUpMessages.MAX_BYTES),
                100,
                HeaderAllowList.of(List.of()),
                5,
                StreamMessageForm.OIP,
                IngressSettings.HealthResponses.DEFAULT,
                false,
                -1,
                AbusePolicy.NONE,
                ConnectionPolicy.NONE);

        private final IngressServer server;
        private final TensorSizes sizes;

        /** Listens on loopback. Blocks. */
        EchoServer(Transport transport, EventLoopGroup loops, ByteBufAllocator allocator, TensorSizes sizes)
                throws Exception {
            this.sizes = sizes;
            this.server = IngressServer.listen(
                    transport,
                    loops,
                    allocator,
                    new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                    new ListenerContext(EchoCall::new, () -> SETTINGS));
        }

        int port() {
            return server.address().getPort();
        }

        @Override
        public void close() {
            server.close();
        }

        private final class EchoCall implements RequestSink {
            private final Operation operation;
            private final Reply reply;
            private long bytes;

            EchoCall(Call call, Reply reply) {
                this.operation = call.operation();
                this.reply = reply;
            }

            @Override
            public void data(ByteBuf chunk) {
                bytes += chunk.readableBytes();
                chunk.release();
            }

            @Override
            public void end() {
                switch (operation) {
                    case Operation.ServerLive operation -> reply.only(new ReplyMessage.Live(true));
                    case Operation.ServerReady operation -> reply.only(new ReplyMessage.Ready(true));
                    case Operation.GatewayReady operation -> reply.only(new ReplyMessage.Ready(true));
                    case Operation.ReadServerMetadata operation -> reply.only(new ReplyMessage.Server(SELF));
                    case Operation.ModelReady ready ->
                        reply.only(new ReplyMessage.ModelReadyState(ready.model(), true));
                    case Operation.Infer infer -> reply.only(new ReplyMessage.Inference(response(infer)));
                    case Operation _ ->
                        reply.fail(new OipException(ErrorCode.UNIMPLEMENTED, "not part of the warm-up"));
                }
            }

            private InferMessage response(Operation.Infer infer) {
                WarmUpMessages size = sizes.of(bytes);
                return switch (infer.form()) {
                    case BodyForm.ProtobufForm protobuf -> size.response(infer.model(), Wire.PROTOBUF, false);
                    case BodyForm.RestForm rest -> size.response(infer.model(), Wire.REST, rest.jsonLength() >= 0);
                };
            }

            @Override
            public void cancel() {}
        }
    }

    /**
     * The tensor sizes of the workload: a few numbers; JSON that takes a while to parse and print; and an image, with so
     * many frames and reads that per-frame code is compiled as well as per-request code. Owns the tensors.
     */
    private record TensorSizes(WarmUpMessages small, WarmUpMessages text, WarmUpMessages image)
            implements AutoCloseable {
        private static final int SMALL = 16;
        private static final int TEXT = 20_000;
        private static final int IMAGE = 150_528;

        TensorSizes() {
            this(new WarmUpMessages(SMALL), new WarmUpMessages(TEXT), new WarmUpMessages(IMAGE));
        }

        /** The largest size whose request may have a body of this many bytes. */
        WarmUpMessages of(long bytes) {
            return bytes < text.tensorBytes() ? small : bytes < image.tensorBytes() ? text : image;
        }

        @Override
        public void close() {
            small.close();
            text.close();
            image.close();
        }
    }
}
