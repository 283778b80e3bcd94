package dev.isthmus.gateway.upstream.rest;

import static dev.isthmus.gateway.upstream.FakeRestServer.ok;
import static dev.isthmus.gateway.upstream.FakeRestServer.write;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.upstream.FakeRestServer;
import dev.isthmus.gateway.upstream.RecordedReply;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.gateway.upstream.rest.RestUpstream.PoolLimits;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledDirectByteBuf;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.function.BiPredicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RestConnectionTest {
    private static final Duration MINUTE = Duration.ofSeconds(60);
    private static final long SECOND = Duration.ofSeconds(1).toNanos();

    private final RestBench rest = new RestBench();

    @AfterEach
    void nothingIsHeld() {
        rest.close();
    }

    private RestUpstream limited(int maxBytes, Endpoint endpoint) {
        return rest.upstream(PoolLimits.DEFAULT, BinaryTensorData.FALSE, MINUTE, maxBytes, endpoint);
    }

    private RestUpstream pooled(int connections, int waiting, Endpoint endpoint) {
        var pool = new PoolLimits(connections, waiting, MINUTE);
        return rest.upstream(pool, BinaryTensorData.FALSE, MINUTE, 1000, endpoint);
    }

    @Test
    void connection_isUsedAgain() throws Exception {
        try (var server = FakeRestServer.sending(ok("{}"))) {
            RestUpstream upstream = rest.upstream(server.endpoint());
            for (int i = 0; i < 5; i++) {
                assertThat(RestBench.text(rest.infer(upstream))).isEqualTo("{}");
            }
            assertThat(server.connections()).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
                "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
            })
    void connection_thatTheServerWillClose_isNotUsedAgain(String response) throws Exception {
        try (var server = FakeRestServer.sending(response)) {
            RestUpstream upstream = rest.upstream(server.endpoint());
            assertThat(RestBench.text(rest.infer(upstream))).isEqualTo("{}");
            server.awaitConnectionClosed();
            assertThat(RestBench.text(rest.infer(upstream))).isEqualTo("{}");
            assertThat(server.connections()).isEqualTo(2);
        }
    }

    @Test
    void connection_thatIsReset_failsItsCall() throws Exception {
        try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            RecordedReply reply = rest.infer(rest.upstream(new Endpoint("127.0.0.1", socket.getLocalPort())));
            try (Socket accepted = socket.accept()) {
                assertThat(accepted.getInputStream().read()).isEqualTo('P');
                accepted.setSoLinger(true, 0);
            }
            OipException failure = reply.failure();
            assertThat(failure.code()).isEqualTo(ErrorCode.UNAVAILABLE);
            assertThat(failure).hasMessage("upstream 'triton' closed the connection");
            assertThat(failure.getCause()).isInstanceOf(IOException.class);
        }
    }

    @Test
    void interimResponsesWithoutEnd_areABadResponse_andEndTheConnection() throws Exception {
        try (var server = FakeRestServer.that((request, out) -> {
            while (true) {
                write(out, "HTTP/1.1 102 Processing\r\n\r\n");
            }
        })) {
            OipException failure = rest.infer(rest.upstream(server.endpoint())).failure();
            assertThat(failure.code()).isEqualTo(ErrorCode.BAD_UPSTREAM_ANSWER);
            assertThat(failure).hasMessage("upstream 'triton' sent more than 32 interim responses to a request");
            server.awaitConnectionClosed();
        }
    }

    @Test
    void someInterimResponses_arePassedOver() throws Exception {
        try (var server = FakeRestServer.sending("HTTP/1.1 102 Processing\r\n\r\n".repeat(32) + ok("{}"))) {
            assertThat(RestBench.text(rest.infer(rest.upstream(server.endpoint()))))
                    .isEqualTo("{}");
        }
    }

    /** uvicorn closes the connection afterwards, without announcing it. */
    @Test
    void connection_thatCarriedAFailureOfTheServer_isNotUsedAgain() throws Exception {
        String broken = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 21\r\n\r\nInternal Server Error";
        try (var server = FakeRestServer.that((request, out) -> {
            write(out, request.connection() == 1 ? broken : ok("{}"));
            return true;
        })) {
            RestUpstream upstream = rest.upstream(server.endpoint());
            assertThat(rest.infer(upstream).failure().code()).isEqualTo(ErrorCode.INTERNAL);
            server.awaitConnectionClosed();
            assertThat(RestBench.text(rest.infer(upstream))).isEqualTo("{}");
            assertThat(server.connections()).isEqualTo(2);
        }
    }

    @Test
    void connection_thatCarriedARefusal_isUsedAgain() throws Exception {
        try (var server = FakeRestServer.sending("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nfull")) {
            RestUpstream upstream = rest.upstream(server.endpoint());
            for (int i = 0; i < 3; i++) {
                assertThat(rest.infer(upstream).failure().code()).isEqualTo(ErrorCode.UNAVAILABLE);
            }
            assertThat(server.connections()).isEqualTo(1);
        }
    }

    @Test
    void connection_closedWhileIdle_isReplaced() throws Exception {
        try (var server = FakeRestServer.sending(ok("{}"))) {
            RestUpstream upstream = rest.upstream(server.endpoint());
            RestBench.bytes(rest.infer(upstream));
            rest.bench().settle();
            rest.nanoTime.addAndGet(SECOND);
            server.closeConnections();
            server.awaitConnectionClosed();
            assertThat(RestBench.text(rest.infer(upstream))).isEqualTo("{}");
            assertThat(server.connections()).isEqualTo(2);
        }
    }

    /** The event loop is busy while the server closes the connection, and has the next request before it has read that. */
    @Test
    void connection_closedJustBeforeARequest_isReplaced() throws Exception {
        try (var server = FakeRestServer.sending(ok("{}"))) {
            RestUpstream upstream = rest.upstream(server.endpoint());
            RestBench.bytes(rest.infer(upstream));
            rest.bench().settle();
            RecordedReply reply = rest.inferAfter(upstream, () -> closedByServer(server));
            assertThat(RestBench.text(reply)).isEqualTo("{}");
            assertThat(server.connections()).isEqualTo(2);
        }
    }

    /** Closes the server's connections, and returns when the gateway's kernel knows. */
    private static void closedByServer(FakeRestServer server) {
        String closeWait = String.format(":%04X 08 ", server.endpoint().port());
        try {
            server.closeConnections();
            await().until(() -> (sockets("/proc/net/tcp") + sockets("/proc/net/tcp6")).contains(closeWait));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Empty where the kernel has none of the family. */
    private static String sockets(String file) throws IOException {
        return Files.exists(Path.of(file)) ? Files.readString(Path.of(file)) : "";
    }

    /** Responds to the first request of each connection and closes it at the second. */
    private static FakeRestServer respondingOnce() throws Exception {
        var served = new ArrayList<Integer>();
        return FakeRestServer.that((request, out) -> {
            if (served.contains(request.connection())) {
                return false;
            }
            served.add(request.connection());
            write(out, ok("{\"c\":" + request.connection() + "}"));
            return true;
        });
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1, 60})
    void inference_onAKeptConnectionThatIsClosedWithoutResponse_isNotSentAgain(long idleSeconds) throws Exception {
        try (var server = respondingOnce()) {
            RestUpstream upstream = rest.upstream(server.endpoint());
            RestBench.bytes(rest.infer(upstream));
            rest.bench().settle();
            rest.nanoTime.addAndGet(idleSeconds * SECOND);
            OipException failure = rest.infer(upstream).failure();
            assertThat(failure).hasMessage("upstream 'triton' closed the connection");
            assertThat(failure.processed()).isEqualTo(OipException.Processed.MAYBE);
            assertThat(server.connections()).isEqualTo(1);
            server.request();
            server.request();
            assertThat(server.unread()).isZero();
        }
    }

    @Test
    void inference_onAConnectionThatWasIdleForLongAndIsOpen_isSentOnIt() throws Exception {
        try (var server = FakeRestServer.sending(ok("{}"))) {
            RestUpstream upstream = rest.upstream(server.endpoint());
            RestBench.bytes(rest.infer(upstream));
            rest.bench().settle();
            rest.nanoTime.addAndGet(60 * SECOND);
            RestBench.bytes(rest.infer(upstream));
            assertThat(server.connections()).isEqualTo(1);
        }
    }

    @Test
    void inference_cancelledWhileItsConnectionIsLookedAt_leavesTheConnectionToTheNext() throws Exception {
        try (var server = FakeRestServer.sending(ok("{}"))) {
            RestUpstream upstream = rest.upstream(server.endpoint());
            RestBench.bytes(rest.infer(upstream));
            rest.bench().settle();
            rest.nanoTime.addAndGet(SECOND);
            rest.cancelledInfer(upstream);
            rest.bench().settleAfterPoll();
            RestBench.bytes(rest.infer(upstream));
            assertThat(server.connections()).isEqualTo(1);
        }
    }

    @Test
    void probe_onAConnectionJustUsedThatIsClosedWithoutResponse_isSentOnceMore() throws Exception {
        try (var server = respondingOnce()) {
            RestUpstream upstream = rest.upstream(server.endpoint());
            RestBench.bytes(rest.infer(upstream));
            rest.bench().settle();
            var reply = rest.bench()
                    .send(r -> upstream.send(rest.bench().call(), new UpstreamRequest.ServerReadyRequest(), r));
            assertThat(reply.response()).isEqualTo(new ReplyMessage.Ready(true));
            assertThat(server.connections()).isEqualTo(2);
        }
    }

    @Test
    void request_onANewConnectionThatIsClosedWithoutResponse_fails() throws Exception {
        try (var server = FakeRestServer.that((request, out) -> false)) {
            OipException failure = rest.infer(rest.upstream(server.endpoint())).failure();
            assertThat(failure.code()).isEqualTo(ErrorCode.UNAVAILABLE);
            assertThat(failure).hasMessage("upstream 'triton' closed the connection");
            assertThat(server.connections()).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
                "HTTP/1.1 200 OK\r\nContent-",
            })
    void response_cutShort_isUnavailable(String response) throws Exception {
        try (var server = FakeRestServer.that((request, out) -> {
            write(out, response);
            return false;
        })) {
            OipException failure = rest.infer(rest.upstream(server.endpoint())).failure();
            assertThat(failure.message()).startsWith("upstream 'triton' ");
            assertThat(failure.code()).isIn(ErrorCode.UNAVAILABLE, ErrorCode.BAD_UPSTREAM_ANSWER);
        }
    }

    @Test
    void response_cutShortOnAKeptConnection_isNotRequestedAgain() throws Exception {
        var served = new ArrayList<Integer>();
        try (var server = FakeRestServer.that((request, out) -> {
            served.add(1);
            write(out, served.size() == 1 ? ok("{}") : "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{");
            return served.size() == 1;
        })) {
            RestUpstream upstream = rest.upstream(server.endpoint());
            RestBench.bytes(rest.infer(upstream));
            assertThat(rest.infer(upstream).failure()).hasMessage("upstream 'triton' closed the connection");
            assertThat(server.connections()).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world",
                "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world",
            })
    void response_inAnyForm_isTaken(String response) throws Exception {
        try (var server = FakeRestServer.sending(response)) {
            RestUpstream upstream = rest.upstream(server.endpoint());
            assertThat(RestBench.text(rest.infer(upstream))).isEqualTo("hello world");
            assertThat(RestBench.text(rest.infer(upstream))).isEqualTo("hello world");
            assertThat(server.connections()).isEqualTo(1);
        }
    }

    @Test
    void response_thatEndsWithItsConnection_isTaken() throws Exception {
        try (var server = FakeRestServer.that((request, out) -> {
            write(out, "HTTP/1.1 200 OK\r\n\r\nhello");
            return false;
        })) {
            assertThat(RestBench.text(rest.infer(rest.upstream(server.endpoint()))))
                    .isEqualTo("hello");
        }
    }

    @Test
    void response_thatShouldEndWithItsConnection_andIsReset_isUnavailable() throws Exception {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            RestUpstream upstream = rest.upstream(new Endpoint("127.0.0.1", socket.getLocalPort()));
            RecordedReply reply = rest.infer(upstream);
            try (var accepted = socket.accept()) {
                write(accepted.getOutputStream(), "HTTP/1.1 200 OK\r\n\r\nhello");
                // The request is not read: closing resets the connection.
                accepted.setSoLinger(true, 0);
            }
            assertThat(reply.failure().code()).isEqualTo(ErrorCode.UNAVAILABLE);
        }
    }

    @Test
    void response_inManyPieces_isPutTogether() throws Exception {
        String half = "x".repeat(100_000);
        var second = new CountDownLatch(1);
        try (var server = FakeRestServer.that((request, out) -> {
            write(out, "HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n" + half);
            awaitQuietly(second);
            write(out, half);
            return true;
        })) {
            RecordedReply reply = rest.infer(rest.upstream(server.endpoint()));
            server.request();
            second.countDown();
            assertThat(RestBench.text(reply)).isEqualTo(half + half);
        }
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "ICY 200 OK\r\n\r\n",
                "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
                "HTTP/1.1 200 OK\nContent-Length: 2\n\n{}",
                "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\n{}",
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
                "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}0\r\n\r\n",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nContent-Length: 2\r\n\r\n",
                "HTTP/1.1 101 Switching Protocols\r\n\r\n",
                "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
            })
    void response_thatCannotBeRead_isABadResponse(String response) throws Exception {
        try (var server = FakeRestServer.sending(response)) {
            OipException failure = rest.infer(rest.upstream(server.endpoint())).failure();
            assertThat(failure.code()).isEqualTo(ErrorCode.BAD_UPSTREAM_ANSWER);
            server.awaitConnectionClosed();
        }
    }

    @Test
    void bytes_beyondTheResponse_doNotReachTheNextRequest() throws Exception {
        try (var server = FakeRestServer.sending(ok("{}") + ok("{\"stray\":1}"))) {
            RestUpstream upstream = pooled(1, 10, server.endpoint());
            List<RecordedReply> replies = List.of(rest.infer(upstream), rest.infer(upstream), rest.infer(upstream));
            for (RecordedReply reply : replies) {
                assertThat(RestBench.text(reply)).isEqualTo("{}");
            }
            assertThat(server.connections()).isEqualTo(3);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n6\r\nabcdef\r\n",
            })
    void response_aboveTheLimit_isRefusedBeforeItsEnd(String response) throws Exception {
        try (var server = FakeRestServer.sending(response)) {
            OipException failure = rest.infer(limited(10, server.endpoint())).failure();
            assertThat(failure.code()).isEqualTo(ErrorCode.BAD_UPSTREAM_ANSWER);
            assertThat(failure).hasMessageStartingWith("upstream 'triton' sent a response of ");
            server.awaitConnectionClosed();
        }
    }

    @Test
    void response_beforeTheRequestWasWritten_isTakenAndTheConnectionClosed() throws Exception {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            RestUpstream upstream = rest.upstream(new Endpoint("127.0.0.1", socket.getLocalPort()));
            RecordedReply reply = rest.infer(upstream, rest.bench().call(), rest.buffer(new byte[16 << 20]), -1);
            try (var accepted = socket.accept()) {
                write(
                        accepted.getOutputStream(),
                        "HTTP/1.1 413 Too Large\r\nContent-Length: 19\r\n\r\n{\"error\":\"too big\"}");
                OipException failure = reply.failure();
                assertThat(failure.code()).isEqualTo(ErrorCode.PAYLOAD_TOO_LARGE);
                assertThat(failure).hasMessage("too big");
            }
        }
    }

    @Test
    void deadline_ofTheCall_closesTheConnection() throws Exception {
        try (var server = FakeRestServer.that((request, out) -> true)) {
            RestUpstream upstream = rest.upstream(server.endpoint());
            var call = rest.bench().callWithin(Duration.ofMillis(300));
            OipException failure = rest.infer(upstream, call).failure();
            assertThat(failure.code()).isEqualTo(ErrorCode.DEADLINE_EXCEEDED);
            server.awaitConnectionClosed();
        }
    }

    @Test
    void deadline_thatHasPassed_sendsNothing() throws Exception {
        try (var server = FakeRestServer.sending(ok("{}"))) {
            RestUpstream upstream = rest.upstream(server.endpoint());
            var call = rest.bench().callWithin(Duration.ofSeconds(-1));
            assertThat(rest.infer(upstream, call).failure().code()).isEqualTo(ErrorCode.DEADLINE_EXCEEDED);
            assertThat(server.connections()).isZero();
        }
    }

    @Test
    void timeout_ofTheUpstream_holdsForCallsWithoutDeadline() throws Exception {
        try (var server = FakeRestServer.sending("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhal")) {
            var upstream = rest.upstream(
                    PoolLimits.DEFAULT, BinaryTensorData.FALSE, Duration.ofMillis(400), 1000, server.endpoint());
            assertThat(rest.infer(upstream).failure()).hasMessage("upstream 'triton' did not respond within 400 ms");
        }
    }

    @Test
    void cancel_closesTheConnection_andNoReplyFollows() throws Exception {
        try (var server = FakeRestServer.that((request, out) -> true)) {
            RecordedReply reply = rest.infer(rest.upstream(server.endpoint()));
            server.request();
            reply.cancel();
            reply.cancel();
            server.awaitConnectionClosed();
            rest.bench().settle();
            assertThat(reply.ended()).isFalse();
        }
    }

    /** A server that received all but a part of a request would wait for it until the timeout. */
    @Test
    void partOfALargeRequest_thatCannotBeWritten_failsTheCallAtOnce() throws Exception {
        CompositeByteBuf body = Unpooled.compositeBuffer(Integer.MAX_VALUE);
        ByteBuf first = rest.buffer(new byte[1_000]);
        body.addComponent(true, first);
        for (int i = 0; i < 2_000; i++) {
            // On the heap: the transport copies groups of heap buffers when it writes them.
            body.addComponent(true, Unpooled.buffer(1_000).writeZero(1_000));
        }
        try (var server = FakeRestServer.sending(ok("{}"))) {
            var settings = UpstreamSettings.of("triton", server.endpoint(), MINUTE, MINUTE, 1_000);
            var upstream = new RestUpstream(
                    settings, ServerCapabilities.unknown(), PoolLimits.DEFAULT, new ShortAllocator(), System::nanoTime);
            OipException failure =
                    rest.infer(upstream, rest.bench().call(), body, -1).failure();
            assertThat(failure).hasMessage("upstream 'triton' closed the connection");
            upstream.close();
        }
    }

    /** An allocator that has no direct memory for some buffers. */
    private static final class ShortAllocator extends AbstractByteBufAllocator {
        private final BiPredicate<Integer, Integer> lacking;

        /** Has direct memory for small buffers only. */
        ShortAllocator() {
            this((initial, most) -> initial > 100_000);
        }

        /** @param lacking takes the initial and the largest capacity of a buffer */
        ShortAllocator(BiPredicate<Integer, Integer> lacking) {
            super(true);
            this.lacking = lacking;
        }

        @Override
        protected ByteBuf newHeapBuffer(int initial, int most) {
            return Unpooled.buffer(initial, most);
        }

        @Override
        protected ByteBuf newDirectBuffer(int initial, int most) {
            if (lacking.test(initial, most)) {
                throw new OutOfMemoryError("of memory outside the heap");
            }
            return new UnpooledDirectByteBuf(this, initial, most);
        }

        @Override
        public boolean isDirectBufferPooled() {
            return true;
        }
    }

    /** The parts of a response are small, and there is no memory to join them. */
    @Test
    void response_whosePartsThereIsNoMemoryToJoin_isPassedAsItCame() throws Exception {
        String response = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n";
        try (var server = FakeRestServer.sending(response)) {
            var settings = UpstreamSettings.of("triton", server.endpoint(), MINUTE, MINUTE, 1_000);
            var upstream = new RestUpstream(
                    settings,
                    ServerCapabilities.unknown(),
                    PoolLimits.DEFAULT,
                    new ShortAllocator((initial, most) -> most <= 2048),
                    System::nanoTime);
            assertThat(RestBench.text(rest.infer(upstream))).isEqualTo("{}");
            upstream.close();
        }
    }

    @Test
    void largeRequest_whosePartsLieInOtherParts_isSentWithoutACopy() throws Exception {
        CompositeByteBuf inner = Unpooled.compositeBuffer(Integer.MAX_VALUE);
        for (int i = 0; i < 2_000; i++) {
            inner.addComponent(true, rest.buffer(new byte[1_000]));
        }
        CompositeByteBuf body = Unpooled.compositeBuffer().addComponent(true, rest.buffer(new byte[10]));
        body.addComponent(true, inner.slice());
        try (var server = FakeRestServer.sending(ok("{}"))) {
            var settings = UpstreamSettings.of("triton", server.endpoint(), MINUTE, MINUTE, 1_000);
            var upstream = new RestUpstream(
                    settings, ServerCapabilities.unknown(), PoolLimits.DEFAULT, new ShortAllocator(), System::nanoTime);
            assertThat(RestBench.text(rest.infer(upstream, rest.bench().call(), body, -1)))
                    .isEqualTo("{}");
            assertThat(server.request().body()).hasSize(2_000_010);
            upstream.close();
        }
    }
}
