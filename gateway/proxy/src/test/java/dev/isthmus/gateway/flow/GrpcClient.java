package dev.isthmus.gateway.flow;

import dev.isthmus.gateway.upstream.FakeGrpcServer;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A client's gRPC call. */
final class GrpcClient {
    private static final int ALL = Integer.MAX_VALUE;

    private final ClientCall<byte[], byte[]> call;
    final BlockingQueue<byte[]> responses = new LinkedBlockingQueue<>();
    private final CompletableFuture<Metadata> headers = new CompletableFuture<>();
    private final CompletableFuture<Status> status = new CompletableFuture<>();
    private final CompletableFuture<Metadata> trailers = new CompletableFuture<>();

    private GrpcClient(ClientCall<byte[], byte[]> call) {
        this.call = call;
    }

    static GrpcClient open(ManagedChannel channel, String method) {
        return open(channel, method, new Metadata(), CallOptions.DEFAULT, ALL);
    }

    /** @param wanted the number of responses read before {@link #take} requests more */
    static GrpcClient open(ManagedChannel channel, String method, Metadata metadata, CallOptions options, int wanted) {
        GrpcClient client = new GrpcClient(channel.newCall(FakeGrpcServer.bytes(method), options));
        client.start(metadata, wanted);
        return client;
    }

    static GrpcClient ask(ManagedChannel channel, String method, Metadata metadata, byte[] request) {
        GrpcClient client = open(channel, method, metadata, CallOptions.DEFAULT, ALL);
        client.send(request);
        client.end();
        return client;
    }

    private void start(Metadata metadata, int wanted) {
        call.start(
                new ClientCall.Listener<>() {
                    @Override
                    public void onHeaders(Metadata got) {
                        headers.complete(got);
                    }

                    @Override
                    public void onMessage(byte[] message) {
                        responses.add(message);
                    }

                    @Override
                    public void onClose(Status got, Metadata last) {
                        trailers.complete(last);
                        status.complete(got);
                    }
                },
                metadata);
        if (wanted > 0) {
            call.request(wanted);
        }
    }

    GrpcClient send(byte[] message) {
        call.sendMessage(message);
        return this;
    }

    /** Whether messages are sent at once. */
    boolean ready() {
        return call.isReady();
    }

    void end() {
        call.halfClose();
    }

    void take(int more) {
        call.request(more);
    }

    void cancel() {
        call.cancel("the test wants it so", null);
    }

    byte[] response() throws InterruptedException {
        return FakeGrpcServer.next(responses);
    }

    Metadata headers() throws Exception {
        return headers.get(20, TimeUnit.SECONDS);
    }

    Metadata trailers() throws Exception {
        return trailers.get(20, TimeUnit.SECONDS);
    }

    Status status() throws Exception {
        return status.get(20, TimeUnit.SECONDS);
    }

    boolean open() {
        return !status.isDone();
    }
}
