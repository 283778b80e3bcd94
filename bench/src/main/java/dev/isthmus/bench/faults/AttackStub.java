package dev.isthmus.bench.faults;

import dev.isthmus.gateway.net.Transport;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The servers behind an attacked gateway, in one process: one for each {@link Kind}, all with a response time of 5 ms.
 * The models {@code big} and {@code big-rest} have responses of 16 MiB. Misbehaving servers record requests in ledgers.
 */
final class AttackStub {
    /** The behavior of a server; ports are printed in this order. */
    enum Kind {
        GRPC,
        REST,
        /** gRPC; sends GOAWAY after every ten calls on a connection. */
        GOAWAY,
        /** REST; responds with an endless sequence of 103. */
        INTERIM,
        /** REST; closes a connection on its second request, or shortly after a response. */
        CLOSING,
        /** gRPC; closes the connection of a request with id {@link AttackStub#POISON}, as a crash would. */
        POISON_1,
        POISON_2,
        POISON_3,
        POISON_4;

        boolean grpc() {
            return this != REST && this != INTERIM && this != CLOSING;
        }

        boolean poisoned() {
            return compareTo(POISON_1) >= 0;
        }

        /** The name of the server's ledger. */
        String ledger() {
            return name().toLowerCase(Locale.ROOT).replace('_', '-');
        }
    }

    static final String LISTENING = "listening ";
    /** The id of the request that crashes servers. */
    static final int POISON = 400_050;

    private AttackStub() {}

    /**
     * Runs until standard input ends.
     *
     * @param arguments the folder of the ledgers
     */
    public static void main(String[] arguments) throws IOException {
        EventLoopGroup loop =
                new MultiThreadIoEventLoopGroup(1, Transport.best().ioHandlerFactory());
        List<String> ports = new ArrayList<>();
        for (Kind kind : Kind.values()) {
            Ledger ledger = Ledger.open(Ledgers.file(Path.of(arguments[0]), kind.ledger(), "m"));
            Channel server = new ServerBootstrap()
                    .group(loop)
                    .channel(Transport.best().serverChannel())
                    .childHandler(new ChannelInitializer<Channel>() {
                        @Override
                        protected void initChannel(Channel channel) {
                            if (kind.grpc()) {
                                AttackStubGrpc.init(channel, kind, ledger);
                            } else {
                                AttackStubRest.init(channel, kind, ledger);
                            }
                        }
                    })
                    .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                    .syncUninterruptibly()
                    .channel();
            ports.add(Integer.toString(((InetSocketAddress) server.localAddress()).getPort()));
        }
        System.out.println(LISTENING + String.join(" ", ports));
        while (System.in.read() >= 0) {
            // input is ignored
        }
        loop.shutdownGracefully();
    }

    /** The id in the first bytes of a JSON document, -1 if there is none. */
    static int jsonId(byte[] beginning) {
        String text = new String(beginning, StandardCharsets.ISO_8859_1);
        int at = text.indexOf("\"id\":\"");
        int end = at < 0 ? -1 : text.indexOf('"', at + 6);
        return end < 0 ? -1 : Request.number(text.substring(at + 6, end));
    }
}
