package dev.isthmus.gateway.http2;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Whenever a connection ends and whatever it received, every listener is notified and no buffer leaks. */
class SuddenEndsTest {

    @Test
    void connectionClosedAtAnyTime_everyListenerIsTold() throws Exception {
        try (Loopback loopback = new Loopback()) {
            for (int seed = 0; seed < 40; seed++) {
                endSuddenly(loopback, new Random(seed));
            }
        }
    }

    private static void endSuddenly(Loopback loopback, Random random) throws Exception {
        List<Http2Connection> ends = new ArrayList<>();
        int port = loopback.listen(() -> {
            Http2Connection server =
                    Http2Connection.server(BothRolesTest.OPTIONS, EchoStreamListener::new, new ConnectionListener() {});
            ends.add(server);
            return server;
        });
        Http2Connection client = Http2Connection.client(BothRolesTest.OPTIONS, new ConnectionListener() {});
        Channel channel = loopback.connect(port, client);
        List<RecordingStreamListener> all = new ArrayList<>();
        loopback.run(() -> {
            for (int i = 0; i < 20; i++) {
                RecordingStreamListener heard = new RecordingStreamListener();
                all.add(heard);
                heard.stream = client.open(BothRolesTest.HEAD, false, heard);
                requireNonNull(heard.stream).data(Unpooled.wrappedBuffer(new byte[random.nextInt(400_000)]), true);
                if (random.nextInt(6) == 0) {
                    heard.stream.reset(8);
                    heard.done.complete(heard);
                }
            }
        });
        CompletableFuture<?> killed = new CompletableFuture<>();
        channel.eventLoop()
                .schedule(
                        () -> {
                            switch (random.nextInt(4)) {
                                case 0 -> channel.close();
                                case 1 -> client.close();
                                case 2 -> ends.forEach(Http2Connection::close);
                                default ->
                                    channel.pipeline().fireExceptionCaught(new IllegalStateException("on purpose"));
                            }
                            killed.complete(null);
                        },
                        random.nextInt(20),
                        TimeUnit.MILLISECONDS);
        killed.get(10, TimeUnit.SECONDS);
        for (RecordingStreamListener heard : all) {
            heard.await();
        }
        channel.closeFuture().await(10, TimeUnit.SECONDS);
        assertThat(loopback.call(client::openStreams)).isZero();
        assertThat(loopback.call(client::acceptsStreams)).isFalse();
    }

    /** Valid frames with changed bytes: the connection continues or fails cleanly. */
    @Test
    void changedBytes_neverDoMoreThanFailTheConnection() {
        for (int seed = 0; seed < 3000; seed++) {
            Random random = new Random(seed);
            try (EmbeddedHttp2Connection bench = EmbeddedHttp2Connection.server(EchoStreamListener::new)) {
                ByteBuf input = Unpooled.copiedBuffer(
                        RawFrames.settings(),
                        RawFrames.request(1, false),
                        RawFrames.data(1, 40, false),
                        RawFrames.frame(FrameType.HEADERS, 0x28, 3, "02" + "0000000010" + "838684" + "0000"),
                        RawFrames.frame(FrameType.CONTINUATION, 4, 3, "400161" + "0162"),
                        RawFrames.frame(FrameType.DATA, 8, 3, "02616263640000"),
                        RawFrames.frame(FrameType.WINDOW_UPDATE, 0, 1, "00000100"),
                        RawFrames.frame(FrameType.PING, 0, 0, "0000000000000000"),
                        RawFrames.frame(FrameType.SETTINGS, 0, 0, "000400001000"),
                        RawFrames.data(1, 40, true),
                        RawFrames.frame(FrameType.RST_STREAM, 0, 3, "00000008"));
                for (int i = random.nextInt(4); i >= 0; i--) {
                    input.setByte(random.nextInt(input.readableBytes()), random.nextInt(256));
                }
                bench.send(RawFrames.preface());
                while (input.isReadable() && bench.channel.isOpen()) {
                    int length = Math.min(input.readableBytes(), 1 + random.nextInt(100));
                    bench.send(Unpooled.copiedBuffer(input.readSlice(length)));
                }
                bench.channel.checkException();
                boolean failed = bench.connectionEvents.stream().anyMatch(event -> event.startsWith("closed "));
                assertThat(bench.channel.isOpen()).isNotEqualTo(failed);
            }
        }
    }
}
