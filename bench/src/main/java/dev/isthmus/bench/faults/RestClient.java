package dev.isthmus.bench.faults;

import dev.isthmus.gateway.net.Transport;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpVersion;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * JSON over HTTP/1.1 with persistent connections; a new one is opened if all are in use, to each gateway in turn, or to
 * the next one if it is refused. Requests that were sent are never sent again. All run on one event loop.
 */
final class RestClient implements Client {
    private final EventLoop loop;
    private final long limitMillis;
    private final List<Integer> ports;
    private final Bootstrap bootstrap;
    private final @Nullable ClientTrust trust;
    private int turn;
    private int started;
    /**
     * A connection is reused for so long after its last request was sent: a gateway that drains closes it a second after
     * its last response, which a busy client may read much later.
     */
    private static final long REUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    /** An idle connection, and when its last request was sent. */
    private record Idle(Channel channel, long sentNanos) {}

    private final Deque<Idle> idle = new ArrayDeque<>();
    private final Set<Channel> open = new HashSet<>();

    RestClient(EventLoop loop, List<Integer> ports, long limitMillis, @Nullable ClientTrust trust) {
        this.loop = loop;
        this.ports = ports;
        this.trust = trust;
        this.limitMillis = limitMillis;
        this.bootstrap = new Bootstrap()
                .group(loop)
                .channel(Transport.of(loop).clientChannel())
                .option(ChannelOption.TCP_NODELAY, true)
                .handler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        if (trust != null) {
                            channel.pipeline().addLast(trust.http1(channel.alloc(), turn));
                        }
                        channel.pipeline()
                                .addLast(
                                        new HttpClientCodec(),
                                        new RestClientExchange(
                                                (waiting, sentNanos) -> idle.push(new Idle(waiting, sentNanos))));
                    }
                });
    }

    @Override
    public void send(Request request, Ended ended) {
        loop.execute(() -> start(request, ended));
    }

    private void start(Request request, Ended ended) {
        if (trust != null && ++started % ClientTrust.REQUESTS_PER_CONNECTION == 0) {
            Idle old = idle.poll();
            if (old != null) {
                old.channel().close();
            }
            connect(request, ended, turn++, 1);
            return;
        }
        for (Idle next = idle.poll(); next != null; next = idle.poll()) {
            if (next.channel().isActive() && System.nanoTime() - next.sentNanos() < REUSE_NANOS) {
                write(next.channel(), request, ended);
                return;
            }
            next.channel().close();
        }
        connect(request, ended, turn++, 1);
    }

    /**
     * Connects to a gateway, or to the next one if it refuses.
     *
     * @param number of the gateway, modulo their number
     * @param tries so far, including this one
     */
    private void connect(Request request, Ended ended, int number, int tries) {
        int port = ports.get(Math.floorMod(number, ports.size()));
        bootstrap.connect("127.0.0.1", port).addListener(done -> {
            if (done.isSuccess()) {
                Channel channel = ((ChannelFuture) done).channel();
                open.add(channel);
                channel.closeFuture().addListener(closed -> open.remove(channel));
                write(channel, request, ended);
            } else if (tries < ports.size()) {
                connect(request, ended, number + 1, tries + 1);
            } else {
                ended.ended(Outcome.RESET);
            }
        });
    }

    private void write(Channel channel, Request request, Ended ended) {
        PendingRequest pending = new PendingRequest(loop, limitMillis, ended, channel::close);
        channel.pipeline().get(RestClientExchange.class).expect(request, pending);
        channel.writeAndFlush(message(request));
    }

    static FullHttpRequest message(Request request) {
        byte[] body = request.json();
        FullHttpRequest message = new DefaultFullHttpRequest(
                HttpVersion.HTTP_1_1,
                HttpMethod.POST,
                "/v2/models/" + request.model() + "/infer",
                Unpooled.wrappedBuffer(body));
        message.headers()
                .set(HttpHeaderNames.HOST, "127.0.0.1")
                .set(HttpHeaderNames.CONTENT_TYPE, HttpHeaderValues.APPLICATION_JSON)
                .set(HttpHeaderNames.CONTENT_LENGTH, body.length);
        return message;
    }

    @Override
    public void close() {
        loop.submit(() -> Set.copyOf(open).forEach(Channel::close)).syncUninterruptibly();
    }
}
