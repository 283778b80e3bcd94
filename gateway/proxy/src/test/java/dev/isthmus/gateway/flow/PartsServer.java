package dev.isthmus.gateway.flow;

import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http2.DefaultHttp2DataFrame;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersFrame;
import io.netty.handler.codec.http2.DefaultHttp2ResetFrame;
import io.netty.handler.codec.http2.Http2DataFrame;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2HeadersFrame;
import io.netty.handler.codec.http2.Http2MultiplexHandler;
import io.netty.handler.codec.http2.Http2ResetFrame;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.Future;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** A gRPC server whose inference responses are sent by the test, in parts; other methods fail with UNIMPLEMENTED. */
final class PartsServer implements AutoCloseable {
    private static final int FRAME = 16 * 1024;

    private final EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final Channel channel;
    final BlockingQueue<Inference> inferences = new LinkedBlockingQueue<>();

    PartsServer() {
        channel = new ServerBootstrap()
                .group(loops)
                .channel(NioServerSocketChannel.class)
                .childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel accepted) {
                        accepted.pipeline()
                                .addLast(
                                        Http2FrameCodecBuilder.forServer().build(),
                                        new Http2MultiplexHandler(streams()));
                    }
                })
                .bind(InetAddress.getLoopbackAddress(), 0)
                .syncUninterruptibly()
                .channel();
    }

    private ChannelHandler streams() {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel stream) {
                stream.pipeline().addLast(new Requests());
            }
        };
    }

    Endpoint endpoint() {
        return new Endpoint("127.0.0.1", ((InetSocketAddress) channel.localAddress()).getPort());
    }

    Inference next() throws InterruptedException {
        return FakeGrpcServer.next(inferences);
    }

    @Override
    public void close() {
        channel.close().syncUninterruptibly();
        loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
    }

    /** One complete request, and its response. */
    static final class Inference {
        private final Channel stream;
        /** Bytes of DATA written to the socket, without those that wait for the gateway's window. */
        final AtomicInteger sent = new AtomicInteger();

        final CompletableFuture<Long> reset = new CompletableFuture<>();

        Inference(Channel stream) {
            this.stream = stream;
        }

        Inference head() {
            return headers(false, ":status", "200", "content-type", "application/grpc");
        }

        /** Sends these bytes of the data. */
        Inference data(byte[] bytes, int from, int to) {
            return data(bytes, from, to, sent);
        }

        /** The same, counted when it is written to the socket. */
        Inference data(byte[] bytes, int from, int to, AtomicInteger gone) {
            for (int at = from; at < to; at += FRAME) {
                int length = Math.min(FRAME, to - at);
                stream.write(new DefaultHttp2DataFrame(Unpooled.wrappedBuffer(bytes, at, length)))
                        .addListener(written -> count(written, length, gone));
            }
            stream.flush();
            return this;
        }

        private static void count(Future<?> written, int length, AtomicInteger gone) {
            if (written.isSuccess()) {
                gone.addAndGet(length);
            }
        }

        void end(String status) {
            headers(true, "grpc-status", status);
        }

        private Inference headers(boolean last, String... namesAndValues) {
            Http2Headers headers = new DefaultHttp2Headers(false);
            for (int i = 0; i < namesAndValues.length; i += 2) {
                headers.add(namesAndValues[i], namesAndValues[i + 1]);
            }
            stream.writeAndFlush(new DefaultHttp2HeadersFrame(headers, last)).addListener(Inference::ignored);
            return this;
        }

        /** Ends the data without a status. */
        void endWithoutStatus() {
            stream.writeAndFlush(new DefaultHttp2DataFrame(true)).addListener(Inference::ignored);
        }

        void reset() {
            stream.writeAndFlush(new DefaultHttp2ResetFrame(Http2Error.INTERNAL_ERROR))
                    .addListener(Inference::ignored);
        }

        /** Closes the connection. */
        void die() {
            stream.parent().close().syncUninterruptibly();
        }

        /** The gateway may have ended the stream already. */
        private static void ignored(Future<?> written) {}
    }

    private final class Requests extends ChannelInboundHandlerAdapter {
        private boolean inference;
        private final CompletableFuture<Inference> made = new CompletableFuture<>();

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object frame) {
            try {
                boolean last = false;
                if (frame instanceof Http2HeadersFrame headers) {
                    inference = headers.headers().path().toString().endsWith("/ModelInfer");
                    last = headers.isEndStream();
                } else if (frame instanceof Http2DataFrame data) {
                    last = data.isEndStream();
                }
                if (last) {
                    take(new Inference(ctx.channel()));
                }
            } finally {
                ReferenceCountUtil.release(frame);
            }
        }

        private void take(Inference complete) {
            made.complete(complete);
            if (inference) {
                inferences.add(complete);
            } else {
                complete.headers(true, ":status", "200", "content-type", "application/grpc", "grpc-status", "12");
            }
        }

        @Override
        public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
            if (event instanceof Http2ResetFrame reset && made.isDone()) {
                made.join().reset.complete(reset.errorCode());
            }
            ctx.fireUserEventTriggered(event);
        }
    }
}
