package dev.isthmus.bench.local;

import dev.isthmus.gateway.net.Transport;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpObjectAggregator;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** A REST client over one persistent connection. */
final class RestWire extends SimpleChannelInboundHandler<FullHttpResponse> implements WireClient {
    private static final int MAX_BYTES = 16 * 1024 * 1024;

    private final RequestEncoding encoding;
    private final FullHttpRequest request;
    private final Channel channel;
    private @Nullable LoopGroup group;
    private @Nullable ServerResponse last;
    private long sent;

    private RestWire(EventLoop loop, int port, RequestEncoding encoding, Case testCase) {
        this.encoding = encoding;
        this.request = encoding.request(testCase);
        this.channel = new Bootstrap()
                .group(loop)
                .channel(Transport.of(loop).clientChannel())
                .option(ChannelOption.TCP_NODELAY, true)
                .handler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel made) {
                        made.pipeline()
                                .addLast(new HttpClientCodec(), new HttpObjectAggregator(MAX_BYTES), RestWire.this);
                    }
                })
                .connect("127.0.0.1", port)
                .syncUninterruptibly()
                .channel();
    }

    static RestWire connect(EventLoop loop, int port, RequestEncoding encoding, Case testCase) {
        return new RestWire(loop, port, encoding, testCase);
    }

    @Override
    public void start(LoopGroup begun) {
        channel.eventLoop().execute(() -> {
            group = begun;
            send();
        });
    }

    private void send() {
        sent = System.nanoTime();
        channel.writeAndFlush(request.retainedDuplicate());
    }

    @Override
    protected void channelRead0(ChannelHandlerContext context, FullHttpResponse response) {
        if (group == null) {
            return;
        }
        if (response.status().code() != 200) {
            group.failed(response.status() + " " + response.content().toString(StandardCharsets.UTF_8), null);
            return;
        }
        if (group.next(sent)) {
            send();
        } else {
            last = new ServerResponse(
                    encoding,
                    response.headers().getInt(RequestEncoding.HEAD_LENGTH, -1),
                    ByteBufUtil.getBytes(response.content()));
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
        if (group != null) {
            group.failed("the server has closed the connection", null);
        }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        if (group != null) {
            group.failed("the connection failed", cause);
        }
        context.close();
    }

    @Override
    public ServerResponse last() {
        if (last == null) {
            throw new IllegalStateException("no response was received");
        }
        return last;
    }

    @Override
    public void close() {
        channel.close().syncUninterruptibly();
        request.release();
    }
}
