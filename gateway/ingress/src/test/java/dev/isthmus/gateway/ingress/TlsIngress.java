package dev.isthmus.gateway.ingress;

import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.http2.AbusePolicy;
import dev.isthmus.gateway.ingress.IngressSettings.BodyLimits;
import dev.isthmus.gateway.ingress.IngressSettings.BrowserAccess;
import dev.isthmus.gateway.net.ConnectionPolicy;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.StreamMessageForm;
import dev.isthmus.gateway.tls.ServerTls;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A listener over TLS that responds to every call with a failure. */
public final class TlsIngress implements AutoCloseable {
    private final EventLoopGroup loops =
            new MultiThreadIoEventLoopGroup(1, Transport.best().ioHandlerFactory());
    private final BlockingQueue<CallContext> calls = new LinkedBlockingQueue<>();
    private final ListenerContext listener;
    private final IngressServer server;

    public TlsIngress(ServerTls tls) throws Exception {
        IngressSettings settings = new IngressSettings(
                BodyLimits.of(1000),
                100,
                GatewayConfig.Headers.DEFAULT.forwarded(),
                5,
                StreamMessageForm.TRITON,
                IngressSettings.HealthResponses.DEFAULT,
                false,
                -1,
                AbusePolicy.NONE,
                ConnectionPolicy.NONE);
        listener = new ListenerContext(new Refusing(), () -> settings)
                .of("test", tls, TrustedProxies.NONE, BrowserAccess.NONE);
        server = IngressServer.listen(
                Transport.best(),
                loops,
                ByteBufAllocator.DEFAULT,
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                listener);
    }

    private final class Refusing implements Service {
        @Override
        public RequestSink open(Call call, Reply reply) {
            calls.add(call.context());
            reply.fail(OipException.invalid("as the test wants it"));
            return new RequestSink() {
                @Override
                public void data(ByteBuf chunk) {
                    chunk.release();
                }

                @Override
                public void end() {}

                @Override
                public void cancel() {}
            };
        }
    }

    public int port() {
        return server.address().getPort();
    }

    /** The context of the next call. */
    public CallContext next() throws InterruptedException {
        return Objects.requireNonNull(calls.poll(20, TimeUnit.SECONDS));
    }

    @Override
    public void close() {
        server.close();
        await().until(() -> listener.connections().count() == 0);
        loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
    }
}
