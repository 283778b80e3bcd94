package dev.isthmus.gateway.net;

import io.netty.channel.Channel;
import io.netty.channel.ChannelException;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.IoEventLoop;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.ServerChannel;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollChannelOption;
import io.netty.channel.epoll.EpollDatagramChannel;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerDomainSocketChannel;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.epoll.EpollTcpInfo;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.DatagramChannel;
import io.netty.channel.socket.ServerSocketChannel;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioChannelOption;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.netty.channel.socket.nio.NioDomainSocketChannel;
import io.netty.channel.socket.nio.NioServerDomainSocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.channel.unix.DomainSocketAddress;
import io.netty.channel.unix.RawUnixChannelOption;
import io.netty.util.concurrent.FastThreadLocal;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import jdk.net.ExtendedSocketOptions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The I/O mechanism of event loops, with its channel types. */
public enum Transport {
    EPOLL(EpollServerSocketChannel.class, EpollSocketChannel.class, EpollDatagramChannel.class),
    NIO(NioServerSocketChannel.class, NioSocketChannel.class, NioDatagramChannel.class);

    private static final Logger LOG = LoggerFactory.getLogger(Transport.class);

    /** The state of an open connection in Linux's {@code tcp_states.h}. */
    private static final int TCP_ESTABLISHED = 1;

    /** Takes a {@code struct sock_fprog}: a number of instructions, and their address. */
    private static final RawUnixChannelOption ATTACH_FILTER =
            new RawUnixChannelOption("SO_ATTACH_FILTER", 1, 26, 2 * Long.BYTES);
    /** Drops segments with SYN: {@code ldb [13]; jset #2, drop; ret #-1; drop: ret #0}, each a {@code struct sock_filter}. */
    private static final long[] WITHOUT_SYN = {
        instruction(0x30, 0, 0, 13), instruction(0x45, 1, 0, 2), instruction(0x06, 0, 0, -1), instruction(0x06, 0, 0, 0)
    };

    /** What the kernel writes into, again for each question. */
    private static final FastThreadLocal<EpollTcpInfo> TCP_INFO = new FastThreadLocal<>() {
        @Override
        protected EpollTcpInfo initialValue() {
            return new EpollTcpInfo();
        }
    };

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

    /** An instruction of the kernel's packet filter, in the byte order of the machines that epoll is there for. */
    private static long instruction(int code, int ifTrue, int ifFalse, int operand) {
        return Integer.toUnsignedLong(operand) << Integer.SIZE | (long) ifFalse << 24 | (long) ifTrue << 16 | code;
    }

    /** The best transport of this machine: epoll, or NIO if epoll is not available. */
    public static Transport best() {
        return Epoll.isAvailable() ? EPOLL : NIO;
    }

    public static Transport of(EventLoop loop) {
        return loop instanceof IoEventLoop io && io.isIoType(EpollIoHandler.class) ? EPOLL : NIO;
    }

    /** Factory of I/O handlers for new event loops. */
    public IoHandlerFactory ioHandlerFactory() {
        return switch (this) {
            case EPOLL -> EpollIoHandler.newFactory();
            case NIO -> NioIoHandler.newFactory();
        };
    }

    /** Enables TCP keepalive, with probes after this many idle seconds; does nothing for a Unix socket. */
    public static void keepAlive(Channel channel, int seconds) {
        if (!(channel instanceof SocketChannel)) {
            return;
        }
        ChannelOption<Integer> idle = channel instanceof EpollSocketChannel
                ? EpollChannelOption.TCP_KEEPIDLE
                : NioChannelOption.of(ExtendedSocketOptions.TCP_KEEPIDLE);
        channel.config().setOption(ChannelOption.SO_KEEPALIVE, true);
        channel.config().setOption(idle, seconds);
    }

    /**
     * The kernel ignores requests for connections to a listening port from here on: clients repeat them after a second,
     * and are refused if the port was closed meanwhile. Connections that it has established are still accepted. Only
     * epoll can; no effect otherwise.
     */
    public static void ignoreConnects(Channel listening) {
        if (!(listening instanceof EpollServerSocketChannel) || !listening.isOpen()) {
            return;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment program = arena.allocateFrom(ValueLayout.JAVA_LONG, WITHOUT_SYN);
            ByteBuffer filter = ByteBuffer.allocate(ATTACH_FILTER.length())
                    .order(ByteOrder.nativeOrder())
                    .putShort(0, (short) WITHOUT_SYN.length)
                    .putLong(Long.BYTES, program.address());
            listening.config().setOption(ATTACH_FILTER, filter);
        } catch (ChannelException e) {
            LOG.debug("connections may be reset while {} is closed", listening, e);
        }
    }

    /**
     * Whether the peer has closed a TCP connection, as the kernel knows before the event loop has read it. Only epoll
     * tells; false for other transports.
     */
    public static boolean closedByPeer(Channel channel) {
        return channel instanceof EpollSocketChannel socket && state(socket) != TCP_ESTABLISHED;
    }

    private static int state(EpollSocketChannel socket) {
        EpollTcpInfo info = TCP_INFO.get();
        socket.tcpInfo(info);
        return info.state();
    }

    public Class<? extends ServerSocketChannel> serverChannel() {
        return serverChannel;
    }

    public Class<? extends SocketChannel> clientChannel() {
        return clientChannel;
    }

    /** The type of a channel that listens at this address: of a port or of a Unix socket. */
    public Class<? extends ServerChannel> serverChannel(SocketAddress address) {
        if (!(address instanceof UnixDomainSocketAddress)) {
            return serverChannel;
        }
        return this == EPOLL ? EpollServerDomainSocketChannel.class : NioServerDomainSocketChannel.class;
    }

    public Class<? extends Channel> clientChannel(SocketAddress address) {
        if (!(address instanceof UnixDomainSocketAddress)) {
            return clientChannel;
        }
        return this == EPOLL ? EpollDomainSocketChannel.class : NioDomainSocketChannel.class;
    }

    /** An address in the form that the channels of this transport expect. */
    public SocketAddress address(SocketAddress address) {
        return this == EPOLL && address instanceof UnixDomainSocketAddress unix
                ? new DomainSocketAddress(unix.getPath().toString())
                : address;
    }

    public Class<? extends DatagramChannel> datagramChannel() {
        return datagramChannel;
    }
}
