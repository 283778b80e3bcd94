package dev.isthmus.gateway.upstream;

import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.settings.Endpoint;
import io.grpc.Context;
import io.grpc.Deadline;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A real gRPC server that follows a script; other methods fail with UNIMPLEMENTED. */
public final class FakeGrpcServer implements AutoCloseable {
    public static final String SERVICE = "inference.GRPCInferenceService";
    private static final List<String> METHODS = List.of(
            "ModelInfer",
            "ModelStreamInfer",
            "ModelMetadata",
            "ModelConfig",
            "ModelStatistics",
            "TraceSetting",
            "LogSettings",
            "RepositoryIndex",
            "RepositoryModelLoad",
            "RepositoryModelUnload",
            "SystemSharedMemoryStatus",
            "SystemSharedMemoryRegister",
            "SystemSharedMemoryUnregister",
            "CudaSharedMemoryStatus",
            "CudaSharedMemoryRegister",
            "CudaSharedMemoryUnregister");

    /** A call as it was opened. */
    public record ReceivedCall(
            String method, Metadata headers, @Nullable Deadline deadline, String authority) {}

    /** Handles the calls, on the server's transport thread. */
    public interface Script {
        /** Handles a message. */
        void message(ServerCall<byte[], byte[]> call, byte[] message);

        /** Whether the next message is requested at once. */
        default boolean eager() {
            return true;
        }

        /** Whether the response headers are sent before the first message is handled. */
        default boolean respondsAtOnce() {
            return true;
        }

        default void ready(ServerCall<byte[], byte[]> call) {}

        /** Whether it handles the gateway's own requests for models' metadata and the index. */
        default boolean describes() {
            return false;
        }

        default void ended(ServerCall<byte[], byte[]> call) {
            call.close(Status.OK, new Metadata());
        }
    }

    /** Handles the single message of each call. */
    private record Unary(BiConsumer<byte[], ServerCall<byte[], byte[]>> behaviour) implements Script {
        @Override
        public void message(ServerCall<byte[], byte[]> call, byte[] message) {
            behaviour.accept(message, call);
        }

        @Override
        public boolean eager() {
            return false;
        }

        @Override
        public boolean describes() {
            return true;
        }

        @Override
        public boolean respondsAtOnce() {
            return false;
        }

        @Override
        public void ended(ServerCall<byte[], byte[]> call) {}
    }

    private final Server server;
    private final Script script;
    private final Endpoint endpoint;
    /** Sent before the first response of each call. */
    public Metadata responseHeaders = new Metadata();

    public final BlockingQueue<ReceivedCall> opened = new LinkedBlockingQueue<>();
    public final BlockingQueue<byte[]> messages = new LinkedBlockingQueue<>();
    public final BlockingQueue<String> halfClosed = new LinkedBlockingQueue<>();
    public final BlockingQueue<String> cancelled = new LinkedBlockingQueue<>();

    public FakeGrpcServer(Script script) throws IOException {
        this(script, List.of(), 0);
    }

    /**
     * A server whose script handles server readiness and metadata itself.
     *
     * @param port 0 for any
     */
    static FakeGrpcServer complete(Script script, int port) throws IOException {
        return new FakeGrpcServer(script, List.of("ServerReady", "ServerMetadata", "ModelReady"), port);
    }

    /**
     * A server that responds to single messages.
     *
     * @param port 0 for any
     */
    public static FakeGrpcServer unary(int port, BiConsumer<byte[], ServerCall<byte[], byte[]>> behaviour)
            throws IOException {
        return complete(new Unary(behaviour), port);
    }

    /** A server that handles the single message of each call. */
    public static FakeGrpcServer unary(BiConsumer<byte[], ServerCall<byte[], byte[]>> behaviour) throws IOException {
        return unary(0, behaviour);
    }

    public static FakeGrpcServer responding(byte[] message) throws IOException {
        return unary((request, call) -> respond(call, message));
    }

    public static FakeGrpcServer echo() throws IOException {
        return unary((request, call) -> respond(call, request));
    }

    public static FakeGrpcServer failing(Status status) throws IOException {
        return unary((request, call) -> call.close(status, new Metadata()));
    }

    public static FakeGrpcServer silent() throws IOException {
        return unary((request, call) -> {});
    }

    /** Sends a complete successful response. */
    public static void respond(ServerCall<byte[], byte[]> call, byte[] message) {
        call.sendHeaders(new Metadata());
        call.sendMessage(message);
        call.close(Status.OK, new Metadata());
    }

    private FakeGrpcServer(Script script, List<String> further, int port) throws IOException {
        this.script = script;
        var service = ServerServiceDefinition.builder(SERVICE);
        Stream.concat(METHODS.stream(), further.stream())
                .forEach(name -> service.addMethod(bytes(name), (call, headers) -> open(name, call, headers)));
        server = NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), port))
                .directExecutor()
                .maxInboundMessageSize(64 << 20)
                .addService(service.build())
                .build()
                .start();
        endpoint = new Endpoint("127.0.0.1", server.getPort());
    }

    /** Bidirectional, so that a script may send no message, or two. */
    public static MethodDescriptor<byte[], byte[]> bytes(String method) {
        return MethodDescriptor.newBuilder(new Bytes(), new Bytes())
                .setType(MethodDescriptor.MethodType.BIDI_STREAMING)
                .setFullMethodName(MethodDescriptor.generateFullMethodName(SERVICE, method))
                .build();
    }

    private ServerCall.Listener<byte[]> open(String method, ServerCall<byte[], byte[]> call, Metadata headers) {
        Deadline deadline = Context.current().getDeadline();
        // The gateway sends these requests itself, at any time: scripts see them only if they want to.
        boolean own = (method.equals("ModelMetadata") || method.equals("RepositoryIndex"))
                && deadline != null
                && deadline.timeRemaining(TimeUnit.SECONDS) < 6;
        if (own && !script.describes()) {
            call.close(Status.UNIMPLEMENTED, new Metadata());
            return new ServerCall.Listener<>() {};
        }
        opened.add(new ReceivedCall(method, headers, deadline, String.valueOf(call.getAuthority())));
        call.request(1);
        return new ServerCall.Listener<>() {
            private boolean responding;

            @Override
            public void onMessage(byte[] message) {
                messages.add(message);
                if (!responding && script.respondsAtOnce()) {
                    responding = true;
                    // gRPC modifies what it sends, and calls arrive on several threads.
                    Metadata response = new Metadata();
                    response.merge(responseHeaders);
                    call.sendHeaders(response);
                }
                script.message(call, message);
                if (script.eager()) {
                    call.request(1);
                }
            }

            @Override
            public void onReady() {
                script.ready(call);
            }

            @Override
            public void onHalfClose() {
                halfClosed.add(method);
                script.ended(call);
            }

            @Override
            public void onCancel() {
                cancelled.add(method);
            }
        };
    }

    public int port() {
        return endpoint.port();
    }

    public Endpoint endpoint() {
        return endpoint;
    }

    /** Waits for the next call and returns its headers. */
    public Metadata headers() throws InterruptedException {
        return next(opened).headers();
    }

    /** Waits for the next message. */
    public byte[] request() throws InterruptedException {
        return next(messages);
    }

    /** Messages received but not yet returned. */
    public int requests() {
        return messages.size();
    }

    public void awaitCancelled() throws InterruptedException {
        next(cancelled);
    }

    /** Waits for the next element, for at most 20 s. */
    public static <T> T next(BlockingQueue<T> queue) throws InterruptedException {
        T next = queue.poll(20, TimeUnit.SECONDS);
        if (next == null) {
            throw new AssertionError("nothing came");
        }
        return next;
    }

    @Override
    public void close() {
        stop();
    }

    /** Terminates at once, including active calls. */
    public void stop() {
        server.shutdownNow();
        await().atMost(Duration.ofSeconds(20)).until(server::isTerminated);
    }

    public static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {
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
