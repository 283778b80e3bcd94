package dev.isthmus.gateway.ingress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.net.Transport;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

class IngressServerTest {

    private static RequestSink live(Call call, Reply reply) {
        reply.only(new ReplyMessage.Live(true));
        return RequestSink.ENDED;
    }

    @Test
    void close_acceptsWhatIsEstablished_first() throws Exception {
        List<Ingress.Client> clients = new ArrayList<>();
        try (Ingress ingress = new Ingress(Transport.best(), IngressServerTest::live, 1000)) {
            ingress.block();
            // More than the event loop accepts in one turn.
            for (int i = 0; i < 200; i++) {
                clients.add(ingress.connect().get("/v2/health/live"));
            }
            ingress.closeListener();
            for (Ingress.Client client : clients) {
                assertThat(client.read().status()).isEqualTo(200);
            }
        } finally {
            for (Ingress.Client client : clients) {
                client.close();
            }
        }
    }

    /** It would be reset if the event loop, which has accepted for the last time, was slow to close. */
    @Test
    void close_establishesNoFurtherConnection() throws Exception {
        try (Ingress ingress = new Ingress(Transport.EPOLL, IngressServerTest::live, 1000);
                Socket late = new Socket()) {
            ingress.block();
            ingress.beginToClose();
            InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(), ingress.port());
            Throwable ignored = catchThrowable(() -> late.connect(address, 200));
            ingress.closeListener();
            assertThat(ignored).isInstanceOf(SocketTimeoutException.class);
            assertThatThrownBy(ingress::connect).isInstanceOf(ConnectException.class);
        }
    }

    private static Ingress.Client connected(IngressServer server) throws IOException {
        return new Ingress.Client(
                new Socket(server.address().getAddress(), server.address().getPort()));
    }

    @Test
    void clientsOfABoundPort_waitUntilItAccepts() throws Exception {
        Transport transport = Transport.best();
        ByteBufAllocator buffers = ByteBufAllocator.DEFAULT;
        InetSocketAddress anyPort = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        AtomicBoolean accepting = new AtomicBoolean();
        List<Boolean> served = new CopyOnWriteArrayList<>();
        EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, transport.ioHandlerFactory());
        try (IngressServer other = IngressServer.listen(
                        transport, loops, buffers, anyPort, Ingress.listener(IngressServerTest::live, 1000));
                IngressServer server = IngressServer.bind(
                        transport,
                        loops,
                        buffers,
                        anyPort,
                        Ingress.listener(
                                (call, reply) -> {
                                    served.add(accepting.get());
                                    return live(call, reply);
                                },
                                1000));
                Ingress.Client early = connected(server).get("/v2/health/live")) {
            // The event loop polls its sockets several times.
            for (int i = 0; i < 5; i++) {
                try (Ingress.Client client = connected(other).get("/v2/health/live")) {
                    assertThat(client.read().status()).isEqualTo(200);
                }
            }
            accepting.set(true);
            server.accept();
            assertThat(early.read().status()).isEqualTo(200);
            assertThat(served).containsExactly(true);
        } finally {
            loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }
}
