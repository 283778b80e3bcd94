package dev.isthmus.gateway.http2;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http2.DefaultHttp2DataFrame;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersFrame;
import io.netty.handler.codec.http2.EmptyHttp2Headers;
import io.netty.handler.codec.http2.Http2DataFrame;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2HeadersFrame;
import io.netty.handler.codec.http2.Http2MultiplexHandler;
import io.netty.handler.codec.http2.Http2ResetFrame;
import io.netty.handler.codec.http2.Http2StreamChannel;
import io.netty.handler.codec.http2.Http2StreamChannelBootstrap;
import io.netty.util.ReferenceCountUtil;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A client's HTTP/2 connection, with prior knowledge. */
public final class Http2Client implements AutoCloseable {
    private final EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final Channel channel;

    public Http2Client(int port) {
        channel = new Bootstrap()
                .group(loops)
                .channel(NioSocketChannel.class)
                .handler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel made) {
                        made.pipeline()
                                .addLast(
                                        Http2FrameCodecBuilder.forClient().build(),
                                        new Http2MultiplexHandler(new ChannelInboundHandlerAdapter()));
                    }
                })
                .connect("127.0.0.1", port)
                .syncUninterruptibly()
                .channel();
    }

    /** A response as it arrives. */
    public static final class Response {
        private final CompletableFuture<Http2Headers> head = new CompletableFuture<>();
        private final BlockingQueue<String> parts = new LinkedBlockingQueue<>();
        private final CompletableFuture<Boolean> ended = new CompletableFuture<>();
        private final Http2StreamChannel stream;
        private final CompletableFuture<Long> reset = new CompletableFuture<>();
        private volatile Http2Headers last = EmptyHttp2Headers.INSTANCE;

        Response(Http2StreamChannel stream) {
            this.stream = stream;
        }

        public Http2Headers head() throws Exception {
            return head.get(20, TimeUnit.SECONDS);
        }

        public String part() throws InterruptedException {
            String part = parts.poll(20, TimeUnit.SECONDS);
            if (part == null) {
                throw new AssertionError("no further part came");
            }
            return utf8(part);
        }

        /** The trailers; the headers if there are none. */
        public Http2Headers trailers() throws Exception {
            ended.get(20, TimeUnit.SECONDS);
            return last;
        }

        /** The complete body, once the stream has ended. */
        public String body() throws Exception {
            return utf8(latin());
        }

        /** As {@link #body()}, one character per byte. */
        public String latin() throws Exception {
            ended.get(20, TimeUnit.SECONDS);
            return String.join("", parts);
        }

        /** The bytes of the body that have arrived. */
        public int received() {
            return String.join("", parts).length();
        }

        private static String utf8(String latin) {
            return new String(latin.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
        }

        /** The error code with which the gateway reset the stream. */
        public long reset() throws Exception {
            return reset.get(20, TimeUnit.SECONDS);
        }

        /** Sends a part of the request body; the result completes when it is written to the socket. */
        public ChannelFuture data(byte[] body, int from, int to, boolean end) {
            return stream.writeAndFlush(new DefaultHttp2DataFrame(Unpooled.copiedBuffer(body, from, to - from), end));
        }

        /** Whether received data is returned to the gateway's flow-control window from here on. */
        public void reading(boolean wanted) {
            stream.config().setAutoRead(wanted);
        }

        /** Resets the stream. */
        public void cancel() {
            stream.close().syncUninterruptibly();
        }
    }

    public Response post(String path, String body, String... headers) {
        return post(path, body.getBytes(StandardCharsets.UTF_8), headers);
    }

    /**
     * Sends a request.
     *
     * @param headers names and values in turn
     */
    public Response post(String path, byte[] body, String... headers) {
        return ask("POST", path, body, headers);
    }

    /**
     * Sends a request with any method.
     *
     * @param headers names and values in turn; pseudo-header fields replace the default ones
     */
    public Response ask(String method, String path, byte[] body, String... headers) {
        Response response = begin(method, false, path, headers);
        // A rejected request may receive its response before all of it is sent.
        response.data(body, 0, body.length, true).awaitUninterruptibly();
        return response;
    }

    public Response get(String path) {
        return begin("GET", true, path);
    }

    /** Sends the headers of a request whose body follows. */
    public Response begin(String path, String... headers) {
        return begin("POST", false, path, headers);
    }

    private Response begin(String method, boolean end, String path, String... headers) {
        CompletableFuture<Response> made = new CompletableFuture<>();
        Http2StreamChannel stream = new Http2StreamChannelBootstrap(channel)
                .handler(new ChannelInboundHandlerAdapter() {
                    @Override
                    public void channelRead(ChannelHandlerContext ctx, Object frame) {
                        read(made.join(), frame);
                    }

                    @Override
                    public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
                        if (event instanceof Http2ResetFrame reset) {
                            made.join().reset.complete(reset.errorCode());
                        }
                        ctx.fireUserEventTriggered(event);
                    }
                })
                .open()
                .syncUninterruptibly()
                .getNow();
        Response response = new Response(stream);
        made.complete(response);
        Http2Headers head = new DefaultHttp2Headers()
                .method(method)
                .path(path)
                .scheme("http")
                .authority("a");
        for (int i = 0; i < headers.length; i += 2) {
            if (headers[i].startsWith(":")) {
                head.set(headers[i], headers[i + 1]);
            } else {
                head.add(headers[i], headers[i + 1]);
            }
        }
        stream.writeAndFlush(new DefaultHttp2HeadersFrame(head, end)).addListener(Http2Client::check);
        return response;
    }

    private static void check(io.netty.util.concurrent.Future<?> written) {
        if (!written.isSuccess()) {
            throw new IllegalStateException(written.cause());
        }
    }

    private static void read(Response response, Object frame) {
        try {
            boolean last = false;
            if (frame instanceof Http2HeadersFrame headers) {
                response.last = headers.headers();
                response.head.complete(headers.headers());
                last = headers.isEndStream();
            } else if (frame instanceof Http2DataFrame data) {
                response.parts.add(data.content().toString(StandardCharsets.ISO_8859_1));
                last = data.isEndStream();
            }
            if (last) {
                response.ended.complete(true);
            }
        } finally {
            ReferenceCountUtil.release(frame);
        }
    }

    @Override
    public void close() {
        channel.close().syncUninterruptibly();
        loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
    }
}
