package dev.isthmus.gateway.http2;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.handler.codec.http2.DefaultHttp2DataFrame;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersFrame;
import io.netty.handler.codec.http2.Http2DataFrame;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2HeadersFrame;
import io.netty.handler.codec.http2.Http2MultiplexHandler;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.codec.http2.Http2StreamChannel;
import io.netty.handler.codec.http2.Http2StreamChannelBootstrap;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Netty's HTTP/2 implementation as the peer. */
class ForeignPeersTest {
    private final Loopback loopback = new Loopback();

    @AfterEach
    void close() {
        loopback.close();
    }

    private static byte[] random(int size) {
        byte[] bytes = new byte[size];
        new Random(size).nextBytes(bytes);
        return bytes;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 100, 16_384, 70_000, 3_000_000})
    void nettysClient_getsItsBodyBack(int size) throws Exception {
        int port = loopback.listen(() ->
                Http2Connection.server(BothRolesTest.OPTIONS, EchoStreamListener::new, new ConnectionListener() {}));
        Channel parent = nettysClient(port);
        for (int round = 0; round < 3; round++) {
            List<NettysRequest> requests = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                requests.add(new NettysRequest(parent, random(size + i)));
            }
            for (int i = 0; i < 5; i++) {
                byte[] body = requireNonNull(requests.get(i).response.get(30, TimeUnit.SECONDS));
                assertThat(body).isEqualTo(random(size + i));
                assertThat(requests.get(i).status).isEqualTo("200");
            }
        }
    }

    private Channel nettysClient(int port) {
        return loopback.connect(port, new ChannelInitializer<Channel>() {
            @Override
            protected void initChannel(Channel channel) {
                channel.pipeline()
                        .addLast(Http2FrameCodecBuilder.forClient()
                                .initialSettings(new Http2Settings()
                                        .initialWindowSize(1 << 20)
                                        .maxFrameSize(1 << 17))
                                .build())
                        .addLast(new Http2MultiplexHandler(new ChannelInboundHandlerAdapter()));
            }
        });
    }

    private Http2Connection connectToNetty() {
        int port = loopback.listen(() -> new ChannelInitializer<Channel>() {
            @Override
            protected void initChannel(Channel channel) {
                channel.pipeline()
                        .addLast(Http2FrameCodecBuilder.forServer()
                                .initialSettings(
                                        new Http2Settings().headerTableSize(200).maxConcurrentStreams(50))
                                .build())
                        .addLast(new Http2MultiplexHandler(new NettysEcho()));
            }
        });
        BothRolesTest.Watch watch = new BothRolesTest.Watch();
        Http2Connection connection = Http2Connection.client(BothRolesTest.OPTIONS, watch);
        loopback.connect(port, connection);
        await().until(() -> watch.ready);
        return connection;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 100, 16_384, 70_000, 3_000_000})
    void nettysServer_givesTheBodyBack(int size) throws Exception {
        Http2Connection connection = connectToNetty();
        for (int round = 0; round < 3; round++) {
            List<RecordingStreamListener> all = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                byte[] body = random(size + i);
                RecordingStreamListener heard = new RecordingStreamListener();
                all.add(heard);
                loopback.run(() -> {
                    heard.stream =
                            connection.open(BothRolesTest.HEAD.with("x-number", "a" + body.length), false, heard);
                    requireNonNull(heard.stream).data(Unpooled.wrappedBuffer(body), true);
                });
            }
            for (int i = 0; i < 5; i++) {
                RecordingStreamListener heard = all.get(i).await();
                assertThat(heard.body.toByteArray()).isEqualTo(random(size + i));
                assertThat(heard.headers.getFirst().get("x-number")).hasToString("a" + (size + i));
            }
        }
    }

    @Test
    void nettysServer_takesManySmallRequests() throws Exception {
        Http2Connection connection = connectToNetty();
        for (int i = 0; i < 500; i++) {
            RecordingStreamListener heard = new RecordingStreamListener();
            loopback.run(() -> {
                heard.stream = connection.open(BothRolesTest.HEAD, false, heard);
                requireNonNull(heard.stream).data(Unpooled.wrappedBuffer(random(20)), true);
            });
            assertThat(heard.await().body.size()).isEqualTo(20);
        }
    }

    /** One request from Netty's client. */
    private static final class NettysRequest extends ChannelInboundHandlerAdapter {
        final CompletableFuture<byte[]> response = new CompletableFuture<>();
        volatile String status = "";
        private final ByteArrayOutputStream body = new ByteArrayOutputStream();

        NettysRequest(Channel parent, byte[] bytes) throws Exception {
            Http2StreamChannel stream =
                    new Http2StreamChannelBootstrap(parent).handler(this).open().get(10, TimeUnit.SECONDS);
            Http2Headers headers = new DefaultHttp2Headers()
                    .method("POST")
                    .path("/echo")
                    .scheme("http")
                    .authority("localhost");
            stream.write(new DefaultHttp2HeadersFrame(headers, false));
            stream.writeAndFlush(new DefaultHttp2DataFrame(Unpooled.wrappedBuffer(bytes), true));
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) throws Exception {
            if (message instanceof Http2DataFrame data) {
                data.content()
                        .getBytes(
                                data.content().readerIndex(),
                                body,
                                data.content().readableBytes());
                data.release();
            } else if (message instanceof Http2HeadersFrame head) {
                if (head.isEndStream()) {
                    response.complete(body.toByteArray());
                } else {
                    status = head.headers().status().toString();
                }
            }
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            response.completeExceptionally(new IllegalStateException("closed"));
        }
    }

    /** Netty's server, which echoes requests. */
    @ChannelHandler.Sharable
    private static final class NettysEcho extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            if (message instanceof Http2DataFrame data) {
                ByteBuf content = data.content();
                ctx.writeAndFlush(new DefaultHttp2DataFrame(content, data.isEndStream()));
            } else if (message instanceof Http2HeadersFrame head) {
                Http2Headers response = new DefaultHttp2Headers().status("200");
                CharSequence number = head.headers().get("x-number");
                response.set("x-number", number == null ? "" : number);
                ctx.writeAndFlush(new DefaultHttp2HeadersFrame(response, false));
            }
        }
    }
}
