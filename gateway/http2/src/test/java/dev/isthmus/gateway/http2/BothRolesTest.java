package dev.isthmus.gateway.http2;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.Http2Error;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Our client and our server over real sockets. */
class BothRolesTest {
    static final Http2Options OPTIONS = new Http2Options(1 << 20, 16 << 20, 16_384, 100, 16_384, 100, AbuseLimits.NONE);
    static final HeaderFieldList HEAD = HeaderFieldList.of(
            HeaderField.constant(":method", "POST"),
            HeaderField.constant(":scheme", "http"),
            HeaderField.constant(":path", "/echo"),
            HeaderField.constant(":authority", "localhost"));

    private final Loopback loopback = new Loopback();
    private final AtomicReference<@Nullable Http2Connection> accepted = new AtomicReference<>();

    @AfterEach
    void close() {
        loopback.close();
    }

    private Http2Connection connected(Http2Options server, Http2Options client, Watch watch) {
        int port = loopback.listen(() -> {
            Http2Connection connection =
                    Http2Connection.server(server, EchoStreamListener::new, new ConnectionListener() {});
            accepted.set(connection);
            return connection;
        });
        Http2Connection connection = Http2Connection.client(client, watch);
        loopback.connect(port, connection);
        await().until(() -> watch.ready);
        return connection;
    }

    private Http2Connection connected() {
        return connected(OPTIONS, OPTIONS, new Watch());
    }

    private Http2Connection server() {
        return requireNonNull(accepted.get());
    }

    private RecordingStreamListener ask(Http2Connection connection, ByteBuf body) {
        RecordingStreamListener heard = new RecordingStreamListener();
        loopback.run(() -> {
            Http2Stream stream = connection.open(HEAD, false, heard);
            heard.stream = stream;
            requireNonNull(stream).data(body, true);
        });
        return heard;
    }

    private static byte[] random(int size) {
        byte[] bytes = new byte[size];
        new Random(size).nextBytes(bytes);
        return bytes;
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 1024, 1025, 16_384, 16_385, 65_535, 65_536, 1_000_000, 30_000_000})
    void body_comesBack(int size) throws Exception {
        byte[] bytes = random(size);
        RecordingStreamListener heard =
                ask(connected(), Unpooled.wrappedBuffer(bytes)).await();

        assertThat(heard.closed).isNull();
        assertThat(heard.headers.getFirst().status()).hasToString("200");
        assertThat(heard.body.toByteArray()).isEqualTo(bytes);
        assertThat(heard.headers.getLast().get("grpc-status")).hasToString("0");
    }

    @Test
    void largeFramesAndSmallWindows_bodyComesBack() throws Exception {
        Http2Options small = new Http2Options(1000, 65_535, 1 << 20, 10, 16_384, 100, AbuseLimits.NONE);
        Http2Options large = new Http2Options(4 << 20, 65_535, 1 << 20, 10, 16_384, 100, AbuseLimits.NONE);
        byte[] bytes = random(300_000);

        assertThat(ask(connected(small, large, new Watch()), Unpooled.wrappedBuffer(bytes))
                        .await()
                        .body
                        .toByteArray())
                .isEqualTo(bytes);
        assertThat(ask(connected(large, small, new Watch()), Unpooled.wrappedBuffer(bytes))
                        .await()
                        .body
                        .toByteArray())
                .isEqualTo(bytes);
    }

    @ParameterizedTest
    @ValueSource(ints = {100, 3_000})
    void compositeOfManyParts_comesBack(int partSize) throws Exception {
        byte[] bytes = random(5_000 * partSize);
        CompositeByteBuf composite = Unpooled.compositeBuffer(Integer.MAX_VALUE);
        for (int i = 0; i < 5_000; i++) {
            composite.addComponent(true, Unpooled.directBuffer(partSize).writeBytes(bytes, i * partSize, partSize));
        }
        assertThat(ask(connected(), composite).await().body.toByteArray()).isEqualTo(bytes);
    }

    @Test
    void manyStreamsAtOnce_allComeBack() throws Exception {
        Http2Connection connection = connected();
        List<RecordingStreamListener> all = new ArrayList<>();
        for (int round = 0; round < 20; round++) {
            for (int i = 0; i < 100; i++) {
                all.add(ask(connection, Unpooled.wrappedBuffer(random(1 + 997 * i))));
            }
            for (int i = 0; i < 100; i++) {
                assertThat(all.get(100 * round + i).await().body.toByteArray()).isEqualTo(random(1 + 997 * i));
            }
        }
        await().until(() -> loopback.call(() -> connection.openStreams() + server().openStreams()) == 0);
    }

    @Test
    void limitOfStreams_isKeptByTheClient() throws Exception {
        Watch watch = new Watch();
        Http2Connection connection =
                connected(new Http2Options(1 << 20, 1 << 20, 16_384, 2, 16_384, 100, AbuseLimits.NONE), OPTIONS, watch);
        RecordingStreamListener first = new RecordingStreamListener();
        loopback.run(() -> {
            first.stream = connection.open(HEAD, false, first);
            assertThat(connection.open(HEAD, false, new RecordingStreamListener()))
                    .isNotNull();
            assertThat(connection.acceptsStreams()).isFalse();
            assertThat(connection.open(HEAD, false, new RecordingStreamListener()))
                    .isNull();
            requireNonNull(first.stream).data(Unpooled.EMPTY_BUFFER, true);
        });
        first.await();
        await().until(() -> loopback.call(connection::acceptsStreams));
        assertThat(watch.ended.get()).isPositive();
    }

    @Test
    void serverGoesAway_openStreamsEnd_thenItCloses() throws Exception {
        Watch watch = new Watch();
        Http2Connection connection = connected(OPTIONS, OPTIONS, watch);
        RecordingStreamListener heard = new RecordingStreamListener();
        loopback.run(() -> heard.stream = connection.open(HEAD, false, heard));
        await().until(() -> loopback.call(() -> server().openStreams()) == 1);
        loopback.run(() -> server().goAway());
        await().until(() -> watch.goingAway);
        assertThat(loopback.call(connection::acceptsStreams)).isFalse();
        assertThat(watch.closed).isFalse();

        loopback.run(() -> requireNonNull(heard.stream).data(Unpooled.wrappedBuffer(random(10)), true));
        assertThat(heard.await().body.toByteArray()).isEqualTo(random(10));
        await().until(() -> watch.closed);
        assertThat(watch.cause).isNull();
    }

    @Test
    void clientResets_serverHears() throws Exception {
        RecordingStreamListener atServer = new RecordingStreamListener();
        int port = loopback.listen(() -> Http2Connection.server(OPTIONS, s -> atServer, new ConnectionListener() {}));
        Watch watch = new Watch();
        Http2Connection connection = Http2Connection.client(OPTIONS, watch);
        loopback.connect(port, connection);
        await().until(() -> watch.ready);
        RecordingStreamListener heard = new RecordingStreamListener();
        loopback.run(() -> {
            Http2Stream stream = requireNonNull(connection.open(HEAD, false, heard));
            stream.data(Unpooled.wrappedBuffer(random(100_000)), false);
            stream.reset(Http2Error.CANCEL.code());
        });
        atServer.await();
        assertThat(atServer.closed).isEqualTo(new StreamEnd(StreamEnd.Cause.RESET, Http2Error.CANCEL.code(), null));
        assertThat(heard.events).isEmpty();
    }

    @Test
    void connectionLost_bothHear() throws Exception {
        Watch watch = new Watch();
        Http2Connection connection = connected(OPTIONS, OPTIONS, watch);
        RecordingStreamListener heard = new RecordingStreamListener();
        loopback.run(() -> heard.stream = connection.open(HEAD, false, heard));
        await().until(() -> loopback.call(() -> server().openStreams()) == 1);
        loopback.run(() -> server().close());
        assertThat(heard.await().closed).isNotNull();
        assertThat(requireNonNull(heard.closed).kind()).isEqualTo(StreamEnd.Cause.LOST);
        await().until(() -> watch.closed);
    }

    @Test
    void ping_isAcknowledged() {
        Http2Connection connection = connected();
        AtomicInteger acknowledgements = new AtomicInteger();
        loopback.run(() -> {
            connection.ping(acknowledgements::incrementAndGet);
            connection.ping(acknowledgements::incrementAndGet);
        });
        await().until(() -> acknowledgements.get() == 1);
        loopback.run(() -> connection.ping(acknowledgements::incrementAndGet));
        await().until(() -> acknowledgements.get() == 2);
    }

    /** Records the events of a connection. */
    static final class Watch implements ConnectionListener {
        volatile boolean ready;
        volatile boolean goingAway;
        volatile boolean closed;
        volatile @Nullable Throwable cause;
        final AtomicInteger ended = new AtomicInteger();

        @Override
        public void ready() {
            ready = true;
        }

        @Override
        public void goingAway(long errorCode) {
            goingAway = true;
        }

        @Override
        public void streamClosed() {
            ended.incrementAndGet();
        }

        @Override
        public void closed(@Nullable Throwable why) {
            cause = why;
            closed = true;
        }
    }
}
