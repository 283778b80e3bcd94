package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The client against grpc-java. */
class GrpcJavaPeerTest extends PeerContract {
    private static final Metadata.Key<String> DO = Metadata.Key.of("x-do", Metadata.ASCII_STRING_MARSHALLER);
    private static final Set<String> UNANSWERED = Set.of("wait", "hold", "fail", "flood");
    private static final Semaphore HELD = new Semaphore(0);
    private static final Semaphore CANCELLED = new Semaphore(0);
    private static Server server = NettyServerBuilder.forPort(0).build();

    @BeforeAll
    static void start() throws Exception {
        server = NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                .maxInboundMessageSize(64 << 20)
                .maxConcurrentCallsPerConnection(STREAMS)
                .addService(ServerServiceDefinition.builder("inference.GRPCInferenceService")
                        .addMethod(method("ModelInfer", MethodType.UNARY), GrpcJavaPeerTest::call)
                        .addMethod(method("ModelStreamInfer", MethodType.BIDI_STREAMING), GrpcJavaPeerTest::call)
                        .build())
                .build()
                .start();
    }

    @AfterAll
    static void stop() throws Exception {
        server.shutdownNow().awaitTermination(20, TimeUnit.SECONDS);
    }

    @Override
    protected Endpoint server() {
        return new Endpoint("127.0.0.1", server.getPort());
    }

    private static MethodDescriptor<byte[], byte[]> method(String name, MethodType type) {
        return MethodDescriptor.<byte[], byte[]>newBuilder()
                .setType(type)
                .setFullMethodName(MethodDescriptor.generateFullMethodName("inference.GRPCInferenceService", name))
                .setRequestMarshaller(new FakeGrpcServer.Bytes())
                .setResponseMarshaller(new FakeGrpcServer.Bytes())
                .build();
    }

    private static ServerCall.Listener<byte[]> call(ServerCall<byte[], byte[]> call, Metadata metadata) {
        String requested = metadata.get(DO);
        String what = requested == null ? "echo" : requested;
        if (what.equals("gzip")) {
            call.setCompression("gzip");
            call.setMessageCompression(true);
        }
        call.sendHeaders(new Metadata());
        call.request(1);
        return new Responder(call, what);
    }

    private static final class Responder extends ServerCall.Listener<byte[]> {
        private final ServerCall<byte[], byte[]> call;
        private final String what;
        private int flooded = FLOOD;

        Responder(ServerCall<byte[], byte[]> call, String what) {
            this.call = call;
            this.what = what;
        }

        @Override
        public void onMessage(byte[] message) {
            boolean unary = call.getMethodDescriptor().getType() == MethodType.UNARY;
            switch (what) {
                case "wait" -> {}
                case "hold" -> HELD.release();
                case "held" -> {
                    HELD.acquireUninterruptibly();
                    call.sendMessage(message);
                }
                case "fail" -> {
                    if (!unary) {
                        call.sendMessage(message);
                    }
                    call.close(Status.FAILED_PRECONDITION.withDescription("50% of \"é\"\n"), new Metadata());
                }
                case "flood" -> {
                    flooded = 0;
                    onReady();
                }
                case "cancelled" -> {
                    CANCELLED.acquireUninterruptibly();
                    call.sendMessage(message);
                }
                default -> {
                    call.sendMessage(message);
                    call.request(1);
                }
            }
        }

        @Override
        public void onReady() {
            while (call.isReady() && flooded < FLOOD) {
                call.sendMessage(new byte[PIECE]);
                if (++flooded == FLOOD) {
                    call.close(Status.OK, new Metadata());
                }
            }
        }

        @Override
        public void onHalfClose() {
            if (!UNANSWERED.contains(what)) {
                call.close(Status.OK, new Metadata());
            }
        }

        @Override
        public void onCancel() {
            if (what.equals("hold")) {
                CANCELLED.release();
            }
        }
    }
}
