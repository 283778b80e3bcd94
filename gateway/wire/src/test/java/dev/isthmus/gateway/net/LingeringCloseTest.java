package dev.isthmus.gateway.net;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.util.concurrent.Future;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class LingeringCloseTest {
    @ParameterizedTest
    @EnumSource(Transport.class)
    void output_endsFirst_andTheChannelOnceThePeerHasClosed(Transport transport) throws Exception {
        try (Connection connection = new Connection(transport)) {
            connection.closeSlowly().sync();
            assertThat(connection.client.getInputStream().read()).isEqualTo(-1);
            connection.client.close();
            connection.channel.closeFuture().sync();
        }
    }

    @ParameterizedTest
    @EnumSource(Transport.class)
    void connectionThatThePeerHasReset_isClosed(Transport transport) throws Exception {
        try (Connection connection = new Connection(transport)) {
            CountDownLatch reset = new CountDownLatch(1);
            connection.channel.eventLoop().execute(() -> {
                try {
                    reset.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            });
            Future<?> closed = connection.closeSlowly();
            connection.client.setSoLinger(true, 0);
            connection.client.close();
            reset.countDown();
            closed.sync();
            connection.channel.closeFuture().sync();
        }
    }

    /** A client's connection, and the server's end of it. */
    private static final class Connection implements AutoCloseable {
        private final EventLoopGroup group;
        private final Socket client;
        private final Channel channel;

        Connection(Transport transport) throws Exception {
            group = new MultiThreadIoEventLoopGroup(1, transport.ioHandlerFactory());
            CompletableFuture<Channel> accepted = new CompletableFuture<>();
            InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
            Channel server = new ServerBootstrap()
                    .group(group)
                    .channel(transport.serverChannel(any))
                    .childHandler(new ChannelInitializer<>() {
                        @Override
                        protected void initChannel(Channel channel) {
                            accepted.complete(channel);
                        }
                    })
                    .bind(any)
                    .sync()
                    .channel();
            InetSocketAddress address = (InetSocketAddress) server.localAddress();
            client = new Socket(address.getAddress(), address.getPort());
            channel = accepted.get();
        }

        /** Closes the channel as after its last write; the future fails with what that throws. */
        Future<?> closeSlowly() {
            return channel.eventLoop().submit(() -> {
                LingeringClose.INSTANCE.operationComplete(channel.newSucceededFuture());
                return null;
            });
        }

        @Override
        public void close() throws IOException {
            client.close();
            group.shutdownGracefully(0, 0, TimeUnit.SECONDS).awaitUninterruptibly();
        }
    }
}
