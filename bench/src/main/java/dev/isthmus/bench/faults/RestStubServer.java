package dev.isthmus.bench.faults;

import dev.isthmus.gateway.net.Transport;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.util.concurrent.Promise;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** As {@link StubServer}, over REST. All of it runs on one event loop. */
final class RestStubServer implements AutoCloseable {
    private static final int MAX_REQUEST = 1 << 20;

    private final EventLoopGroup loops =
            new MultiThreadIoEventLoopGroup(1, Transport.best().ioHandlerFactory());
    private final EventLoop loop = loops.next();
    private final Ledger ledger;
    private final long serviceMicros;
    private final Channel listening;
    private final Set<Connection> open = new HashSet<>();
    private final Promise<Void> closed = loop.newPromise();
    private boolean draining;

    /** Listens on loopback; port 0 selects any free port. */
    RestStubServer(String name, Path folder, int port, long serviceMicros) throws IOException {
        this.serviceMicros = serviceMicros;
        ledger = Ledger.open(Ledgers.file(folder, name, Request.MODEL));
        listening = new ServerBootstrap()
                .group(loop)
                .channel(Transport.best().serverChannel())
                .childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline()
                                .addLast(
                                        new HttpServerCodec(),
                                        new HttpObjectAggregator(MAX_REQUEST),
                                        new Connection(channel));
                    }
                })
                .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port))
                .syncUninterruptibly()
                .channel();
    }

    /**
     * Runs until the end of standard input or a line {@link StubServer#DRAIN}.
     *
     * @param arguments name, folder of the ledgers, port (0: any), service time in microseconds
     */
    public static void main(String[] arguments) throws IOException {
        try (RestStubServer stub = new RestStubServer(
                        arguments[0],
                        Path.of(arguments[1]),
                        Integer.parseInt(arguments[2]),
                        Long.parseLong(arguments[3]));
                BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            System.out.println(StubServer.LISTENING + stub.port());
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                if (line.equals(StubServer.DRAIN)) {
                    stub.drain();
                    return;
                }
            }
        }
    }

    int port() {
        return ((InetSocketAddress) listening.localAddress()).getPort();
    }

    /** Stops listening, closes idle connections, and the others after their responses; returns when all are closed. */
    void drain() {
        loop.submit(this::stopListening).syncUninterruptibly();
        closed.syncUninterruptibly();
    }

    private void stopListening() {
        draining = true;
        listening.close();
        Set.copyOf(open).forEach(Connection::closeIfIdle);
        closedIfDrained();
    }

    private void closedIfDrained() {
        if (draining && open.isEmpty()) {
            closed.trySuccess(null);
        }
    }

    private final class Connection extends SimpleChannelInboundHandler<FullHttpRequest> {
        private final Channel channel;
        private boolean busy;

        Connection(Channel channel) {
            this.channel = channel;
            open.add(this);
        }

        @Override
        public void channelInactive(ChannelHandlerContext context) {
            open.remove(this);
            closedIfDrained();
        }

        void closeIfIdle() {
            if (!busy) {
                channel.close();
            }
        }

        @Override
        protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
            busy = true;
            byte[] body = new byte[request.content().readableBytes()];
            request.content().readBytes(body);
            if (request.method().equals(HttpMethod.GET)) {
                answer(AttackStubRest.META);
            } else {
                infer(AttackStub.jsonId(body));
            }
        }

        private void infer(int id) {
            boolean counted = ledger.arrived(id);
            loop.schedule(
                    () -> {
                        if (counted) {
                            ledger.completed();
                        }
                        answer(AttackStubRest.inferred(id));
                    },
                    serviceMicros,
                    TimeUnit.MICROSECONDS);
        }

        private void answer(String json) {
            busy = false;
            FullHttpResponse response = AttackStubRest.answer(AttackStubRest.text(json), "application/json");
            if (draining) {
                response.headers().set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE);
            }
            channel.writeAndFlush(response).addListener(written -> {
                if (draining) {
                    channel.close();
                }
            });
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            context.close();
        }
    }

    @Override
    public void close() {
        loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }
}
