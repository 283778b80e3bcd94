package dev.isthmus.gateway.endtoend;

import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.proto.InferTensorContents;
import dev.isthmus.proto.ModelInferRequest;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** 1,000 inferences per second of the embedded model, fewer if so many have no response; failures are kept. */
final class SteadyCalls implements AutoCloseable {
    private static final int PERIOD_MILLIS = 10;
    private static final int AT_ONCE = 10;
    private static final Duration PATIENCE = Duration.ofSeconds(90);
    /** Fewer than the local queue takes of one model, for one server may have all of them. */
    private static final int MAX_ACTIVE = 100;

    private static final byte[] REQUEST = request();

    private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
    private final ManagedChannel channel;
    private final AtomicInteger active = new AtomicInteger();
    final AtomicInteger succeeded = new AtomicInteger();
    final Queue<Throwable> failures = new ConcurrentLinkedQueue<>();

    SteadyCalls(int port) {
        channel = NettyChannelBuilder.forAddress("127.0.0.1", port)
                .usePlaintext()
                .directExecutor()
                .build();
        clock.scheduleAtFixedRate(this::send, 0, PERIOD_MILLIS, TimeUnit.MILLISECONDS);
    }

    private static byte[] request() {
        ModelInferRequest.Builder request = ModelInferRequest.newBuilder().setModelName("simple");
        for (String name : new String[] {"INPUT0", "INPUT1"}) {
            InferTensorContents.Builder values = InferTensorContents.newBuilder();
            for (int i = 0; i < 16; i++) {
                values.addIntContents(i);
            }
            request.addInputs(ModelInferRequest.InferInputTensor.newBuilder()
                    .setName(name)
                    .setDatatype("INT32")
                    .addShape(1)
                    .addShape(16)
                    .setContents(values));
        }
        return request.build().toByteArray();
    }

    private void send() {
        for (int i = 0; i < AT_ONCE && active.get() < MAX_ACTIVE; i++) {
            active.incrementAndGet();
            ClientCalls.asyncUnaryCall(
                    channel.newCall(FakeGrpcServer.bytes("ModelInfer"), CallOptions.DEFAULT), REQUEST, new Outcome());
        }
    }

    /** Waits until this many more calls have succeeded or one has failed. */
    void awaitMore(int calls) {
        int enough = succeeded.get() + calls;
        await().atMost(PATIENCE).until(() -> succeeded.get() >= enough || !failures.isEmpty());
    }

    private final class Outcome implements StreamObserver<byte[]> {
        @Override
        public void onNext(byte[] response) {}

        @Override
        public void onError(Throwable failure) {
            active.decrementAndGet();
            failures.add(failure);
        }

        @Override
        public void onCompleted() {
            active.decrementAndGet();
            succeeded.incrementAndGet();
        }
    }

    /** Sends no more calls, and waits for those under way. */
    void stop() {
        clock.close();
        channel.shutdown();
        await().atMost(PATIENCE).until(channel::isTerminated);
    }

    @Override
    public void close() {
        stop();
    }
}
