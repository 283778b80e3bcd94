package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.gateway.settings.Endpoint;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;

/** A real gRPC server whose every method does the same with its bytes. */
public final class GrpcTestServer implements AutoCloseable {
    private static final String SERVICE = "inference.GRPCInferenceService";

    private final Server server;
    private final int port;
    private final BlockingQueue<Metadata> headers = new LinkedBlockingQueue<>();
    private final BlockingQueue<byte[]> requests = new LinkedBlockingQueue<>();
    private final BlockingQueue<String> cancelled = new LinkedBlockingQueue<>();

    private GrpcTestServer(int wanted, BiConsumer<byte[], ServerCall<byte[], byte[]>> behaviour) throws IOException {
        ServerCallHandler<byte[], byte[]> handler = (call, metadata) -> {
            headers.add(metadata);
            call.request(1);
            return new Unary(call, behaviour);
        };
        var service = ServerServiceDefinition.builder(SERVICE);
        for (String method :
                new String[] {"ModelInfer", "ServerReady", "ServerMetadata", "ModelReady", "ModelMetadata"}) {
            service.addMethod(method(method), handler);
        }
        server = NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), wanted))
                .maxInboundMessageSize(64 << 20)
                .directExecutor()
                .addService(service.build())
                .build()
                .start();
        this.port = server.getPort();
    }

    static GrpcTestServer that(BiConsumer<byte[], ServerCall<byte[], byte[]>> behaviour) throws IOException {
        return on(0, behaviour);
    }

    public static GrpcTestServer on(int port, BiConsumer<byte[], ServerCall<byte[], byte[]>> behaviour)
            throws IOException {
        return new GrpcTestServer(port, behaviour);
    }

    static GrpcTestServer answering(byte[] message) throws IOException {
        return that((request, call) -> answer(call, message));
    }

    public static GrpcTestServer echo() throws IOException {
        return that((request, call) -> answer(call, request));
    }

    public static GrpcTestServer failing(Status status) throws IOException {
        return that((request, call) -> call.close(status, new Metadata()));
    }

    public static GrpcTestServer silent() throws IOException {
        return that((request, call) -> {});
    }

    public static void answer(ServerCall<byte[], byte[]> call, byte[] message) {
        call.sendHeaders(new Metadata());
        call.sendMessage(message);
        call.close(Status.OK, new Metadata());
    }

    public int port() {
        return port;
    }

    public Endpoint endpoint() {
        return new Endpoint("127.0.0.1", port());
    }

    Metadata headers() throws InterruptedException {
        return taken(headers);
    }

    public byte[] request() throws InterruptedException {
        return taken(requests);
    }

    public int requests() {
        return requests.size();
    }

    public void awaitCancelled() throws InterruptedException {
        taken(cancelled);
    }

    private static <T> T taken(BlockingQueue<T> queue) throws InterruptedException {
        T taken = queue.poll(20, TimeUnit.SECONDS);
        if (taken == null) {
            throw new AssertionError("the server saw nothing");
        }
        return taken;
    }

    /** Ends at once, calls under way included. */
    void stop() {
        server.shutdownNow();
        try {
            if (!server.awaitTermination(20, TimeUnit.SECONDS)) {
                throw new AssertionError("the server does not end");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted while the server ended", e);
        }
    }

    @Override
    public void close() {
        stop();
    }

    private final class Unary extends ServerCall.Listener<byte[]> {
        private final ServerCall<byte[], byte[]> call;
        private final BiConsumer<byte[], ServerCall<byte[], byte[]>> behaviour;

        Unary(ServerCall<byte[], byte[]> call, BiConsumer<byte[], ServerCall<byte[], byte[]>> behaviour) {
            this.call = call;
            this.behaviour = behaviour;
        }

        @Override
        public void onMessage(byte[] message) {
            requests.add(message);
            behaviour.accept(message, call);
        }

        @Override
        public void onCancel() {
            cancelled.add("cancelled");
        }
    }

    private static MethodDescriptor<byte[], byte[]> method(String name) {
        return MethodDescriptor.<byte[], byte[]>newBuilder()
                // So that the server may send no message, or two.
                .setType(MethodDescriptor.MethodType.SERVER_STREAMING)
                .setFullMethodName(MethodDescriptor.generateFullMethodName(SERVICE, name))
                .setRequestMarshaller(new Bytes())
                .setResponseMarshaller(new Bytes())
                .build();
    }

    static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {
        @Override
        public InputStream stream(byte[] value) {
            return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
            try {
                return stream.readAllBytes();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
