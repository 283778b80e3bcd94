package dev.isthmus.bench.local;

import dev.isthmus.bench.RawMethods;
import dev.isthmus.gateway.net.Transport;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.netty.NettyChannelBuilder;
import io.netty.channel.EventLoop;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/** A client of unary gRPC calls over one connection. */
final class GrpcWire implements WireClient {
    private static final MethodDescriptor<byte[], byte[]> INFER = RawMethods.of("ModelInfer");

    private final EventLoop loop;
    private final byte[] message;
    private final ManagedChannel channel;
    private byte @Nullable [] last;

    private GrpcWire(EventLoop loop, int port, Case testCase) {
        this.loop = loop;
        this.message = RequestEncoding.message(testCase);
        this.channel = NettyChannelBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), port))
                .usePlaintext()
                .disableRetry()
                .directExecutor()
                .eventLoopGroup(loop)
                .channelType(Transport.of(loop).clientChannel())
                .build();
    }

    static GrpcWire connect(EventLoop loop, int port, Case testCase) {
        return new GrpcWire(loop, port, testCase);
    }

    @Override
    public void start(LoopGroup group) {
        loop.execute(() -> send(group));
    }

    private void send(LoopGroup group) {
        ClientCall<byte[], byte[]> call = channel.newCall(INFER, CallOptions.DEFAULT);
        call.start(new Listener(group, System.nanoTime()), new Metadata());
        call.request(2);
        call.sendMessage(message);
        call.halfClose();
    }

    @Override
    public ServerResponse last() {
        if (last == null) {
            throw new IllegalStateException("no response was received");
        }
        return new ServerResponse(RequestEncoding.GRPC, -1, last);
    }

    @Override
    public void close() {
        channel.shutdownNow();
    }

    private final class Listener extends ClientCall.Listener<byte[]> {
        private final LoopGroup group;
        private final long sent;

        Listener(LoopGroup group, long sent) {
            this.group = group;
            this.sent = sent;
        }

        @Override
        public void onMessage(byte[] received) {
            last = received;
        }

        @Override
        public void onClose(Status status, Metadata trailers) {
            if (!status.isOk()) {
                group.failed(status.toString(), status.getCause());
            } else if (group.next(sent)) {
                send(group);
            }
        }
    }
}
