package dev.isthmus.bench.faults;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.isthmus.bench.RawMethods;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.proto.ModelInferResponse;
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
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A gRPC client over several connections to each gateway. It sends no deadline, so that the gateway's timeouts apply,
 * and never retries. With several gateways it does what gRPC does by default: a call that was not processed, because its
 * stream is above the last one of a GOAWAY or was refused, is sent again. Calls wait for a connection then.
 */
final class GrpcClient implements Client {
    private static final int CONNECTIONS = 4;
    private static final MethodDescriptor<byte[], byte[]> INFER = RawMethods.of("ModelInfer");

    private final EventLoop loop;
    private final long limitMillis;
    private final int gateways;
    private final List<Integer> ports;
    private final @Nullable ClientTrust trust;
    private final List<ManagedChannel> channels = new ArrayList<>();
    private int turn;

    GrpcClient(EventLoop loop, List<Integer> ports, long limitMillis, @Nullable ClientTrust trust) {
        this.loop = loop;
        this.limitMillis = limitMillis;
        this.gateways = ports.size();
        this.ports = ports;
        this.trust = trust;
        for (int i = 0; i < CONNECTIONS; i++) {
            channels.add(channel(loop, ports, trust, i));
        }
    }

    private static ManagedChannel channel(
            EventLoop loop, List<Integer> ports, @Nullable ClientTrust trust, int number) {
        NettyChannelBuilder builder = ports.size() == 1
                ? NettyChannelBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), ports.get(0)))
                        .disableRetry()
                : NettyChannelBuilder.forTarget(LoopbackPorts.target(ports)).defaultLoadBalancingPolicy("round_robin");
        if (trust == null) {
            builder.usePlaintext();
        } else {
            builder.sslContext(trust.http2()).overrideAuthority(trust.serverName(number));
        }
        return builder.directExecutor()
                .eventLoopGroup(loop)
                .channelType(Transport.of(loop).clientChannel())
                .build();
    }

    @Override
    public synchronized void send(Request request, Ended ended) {
        int number = Math.floorMod(turn, CONNECTIONS);
        if (trust != null && turn % ClientTrust.REQUESTS_PER_CONNECTION == 0) {
            channels.set(number, channel(loop, ports, trust, number)).shutdown();
        }
        turn++;
        ManagedChannel channel = channels.get(number);
        // A refused connection is not an end: another gateway may take the call.
        CallOptions options = gateways == 1 ? CallOptions.DEFAULT : CallOptions.DEFAULT.withWaitForReady();
        ClientCall<byte[], byte[]> call = channel.newCall(INFER, options);
        PendingRequest pending =
                new PendingRequest(loop, limitMillis, ended, () -> call.cancel("no response in time", null));
        call.start(new Answer(request, pending), new Metadata());
        call.request(2);
        call.sendMessage(request.protobuf());
        call.halfClose();
    }

    /** The outcome of a call. A transport error, unlike a received status, has a cause or mentions HTTP/2. */
    static Outcome outcome(Status status, Request request, byte @Nullable [] message) {
        if (status.isOk()) {
            return message != null && answers(request, message) ? Outcome.OK : Outcome.TRUNCATED;
        }
        if (message != null) {
            return Outcome.TRUNCATED;
        }
        String text = status.getDescription() == null ? "" : status.getDescription();
        boolean transport = status.getCause() != null || text.contains("HTTP/2") || text.contains("Network closed");
        return transport ? Outcome.RESET : Outcome.status(status.getCode().name());
    }

    private static boolean answers(Request request, byte[] message) {
        try {
            ModelInferResponse response = ModelInferResponse.parseFrom(message);
            return response.getId().equals(request.text())
                    && response.getRawOutputContentsCount() == 1
                    && response.getRawOutputContents(0).size() == 16;
        } catch (InvalidProtocolBufferException e) {
            return false;
        }
    }

    @Override
    public synchronized void close() {
        channels.forEach(ManagedChannel::shutdownNow);
    }

    private static final class Answer extends ClientCall.Listener<byte[]> {
        private final Request request;
        private final PendingRequest pending;
        private byte @Nullable [] message;

        Answer(Request request, PendingRequest pending) {
            this.request = request;
            this.pending = pending;
        }

        @Override
        public void onMessage(byte[] received) {
            message = received;
        }

        @Override
        public void onClose(Status status, Metadata trailers) {
            pending.end(outcome(status, request, message));
        }
    }
}
