package dev.isthmus.gateway.net;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class TransportTest {

    @ParameterizedTest
    @EnumSource(Transport.class)
    void loop_isKnownByItsTransport(Transport transport) {
        var group = new MultiThreadIoEventLoopGroup(1, transport.ioHandlerFactory());
        try {
            assertThat(Transport.of(group.next())).isEqualTo(transport);
        } finally {
            group.shutdownGracefully(0, 0, TimeUnit.SECONDS).awaitUninterruptibly();
        }
    }

    @ParameterizedTest
    @EnumSource(Transport.class)
    void unixSocket_isListenedOn_andConnectedTo(Transport transport, @TempDir Path folder) throws Exception {
        SocketAddress address = UnixDomainSocketAddress.of(folder.resolve("socket"));
        var group = new MultiThreadIoEventLoopGroup(1, transport.ioHandlerFactory());
        CompletableFuture<Object> received = new CompletableFuture<>();
        try {
            new ServerBootstrap()
                    .group(group)
                    .channel(transport.serverChannel(address))
                    .childHandler(new ChannelInboundHandlerAdapter() {
                        @Override
                        public void channelRead(ChannelHandlerContext ctx, Object message) {
                            ByteBuf bytes = (ByteBuf) message;
                            Transport.keepAlive(ctx.channel(), 60);
                            received.complete(bytes.toString(StandardCharsets.US_ASCII));
                            bytes.release();
                        }
                    })
                    .bind(transport.address(address))
                    .sync();
            Channel client = new Bootstrap()
                    .group(group)
                    .channel(transport.clientChannel(address))
                    .handler(new ChannelInboundHandlerAdapter())
                    .connect(transport.address(address))
                    .sync()
                    .channel();
            client.writeAndFlush(Unpooled.copiedBuffer("sent", StandardCharsets.US_ASCII))
                    .sync();
            assertThat(received.join()).isEqualTo("sent");
        } finally {
            group.shutdownGracefully(0, 0, TimeUnit.SECONDS).awaitUninterruptibly();
        }
    }
}
