package dev.isthmus.gateway.net;

import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.IoEventLoop;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollChannelOption;
import io.netty.channel.epoll.EpollDatagramChannel;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.DatagramChannel;
import io.netty.channel.socket.ServerSocketChannel;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioChannelOption;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import jdk.net.ExtendedSocketOptions;

/** How an event loop talks to the kernel, and the channel types that go with it. */
public enum Transport {
    EPOLL(EpollServerSocketChannel.class, EpollSocketChannel.class, EpollDatagramChannel.class),
    NIO(NioServerSocketChannel.class, NioSocketChannel.class, NioDatagramChannel.class);

    private final Class<? extends ServerSocketChannel> serverChannel;
    private final Class<? extends SocketChannel> clientChannel;
    private final Class<? extends DatagramChannel> datagramChannel;

    Transport(
            Class<? extends ServerSocketChannel> serverChannel,
            Class<? extends SocketChannel> clientChannel,
            Class<? extends DatagramChannel> datagramChannel) {
        this.serverChannel = serverChannel;
        this.clientChannel = clientChannel;
        this.datagramChannel = datagramChannel;
    }

    /** The best transport of this machine: epoll, or NIO where epoll does not load. */
    public static Transport best() {
        return Epoll.isAvailable() ? EPOLL : NIO;
    }

    /** The transport that {@code loop} was made with. */
    public static Transport of(EventLoop loop) {
        return loop instanceof IoEventLoop io && io.isIoType(EpollIoHandler.class) ? EPOLL : NIO;
    }

    /** Makes the I/O handlers of new event loops. */
    public IoHandlerFactory ioHandlerFactory() {
        return switch (this) {
            case EPOLL -> EpollIoHandler.newFactory();
            case NIO -> NioIoHandler.newFactory();
        };
    }

    /** Has the kernel ask the peer, after so many seconds of silence, whether it is there. */
    public static void keepAlive(Channel channel, int seconds) {
        ChannelOption<Integer> idle = channel instanceof EpollSocketChannel
                ? EpollChannelOption.TCP_KEEPIDLE
                : NioChannelOption.of(ExtendedSocketOptions.TCP_KEEPIDLE);
        channel.config().setOption(ChannelOption.SO_KEEPALIVE, true);
        channel.config().setOption(idle, seconds);
    }

    public Class<? extends ServerSocketChannel> serverChannel() {
        return serverChannel;
    }

    public Class<? extends SocketChannel> clientChannel() {
        return clientChannel;
    }

    public Class<? extends DatagramChannel> datagramChannel() {
        return datagramChannel;
    }
}
