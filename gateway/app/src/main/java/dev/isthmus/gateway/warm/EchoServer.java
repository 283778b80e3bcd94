package dev.isthmus.gateway.warm;

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
import dev.isthmus.gateway.net.ConnectionPolicy;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.settings.GatewayConfig.StreamMessageForm;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.Wire;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoopGroup;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;

/**
 * The upstream server of the warm-up: serves every model, and responds with a tensor of the request's size on the
 * request's wire.
 */
final class EchoServer implements AutoCloseable {
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

    /** Handles one request. */
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
                case Operation.ModelReady ready -> reply.only(new ReplyMessage.ModelReadyState(ready.model(), true));
                case Operation.Infer infer -> reply.only(new ReplyMessage.Inference(response(infer)));
                case Operation _ -> refuse();
            }
        }

        private InferMessage response(Operation.Infer infer) {
            WarmUpMessages size = sizes.of(bytes);
            return switch (infer.form()) {
                case BodyForm.ProtobufForm protobuf -> size.response(infer.model(), Wire.PROTOBUF, false);
                case BodyForm.RestForm rest -> size.response(infer.model(), Wire.REST, rest.jsonLength() >= 0);
            };
        }

        private void refuse() {
            reply.fail(new OipException(ErrorCode.UNIMPLEMENTED, "not part of the warm-up"));
        }

        @Override
        public void cancel() {}
    }
}
