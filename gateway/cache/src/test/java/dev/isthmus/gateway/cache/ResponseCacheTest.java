package dev.isthmus.gateway.cache;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.settings.CacheConfig;
import dev.isthmus.gateway.upstream.FakeUpstream;
import dev.isthmus.gateway.upstream.InferSource;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamFailures;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.FailureCause;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.OipException.Processed;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import dev.isthmus.proto.ModelInferResponse;
import dev.isthmus.testing.FailingAllocator;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import io.netty.channel.embedded.EmbeddedChannel;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class ResponseCacheTest {
    private static final long LIMIT = 4_000;
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final AtomicLong now = new AtomicLong();
    private final MeterRegistry meters = new SimpleMeterRegistry();
    private final ResponseCaches caches = new ResponseCaches(meters, now::get, LIMIT);
    private final FakeUpstream upstream = new FakeUpstream();
    private final FailingAllocator memory = new FailingAllocator();
    private final EventLoop loop = new EmbeddedChannel().eventLoop();

    private static CacheConfig ttl(Duration ttl, boolean singleflight) {
        CacheConfig some = CacheConfig.DEFAULT;
        return new CacheConfig(
                ttl, some.maxBytes(), some.maxResponse(), some.maxRequest(), List.of(), List.of(), false, singleflight);
    }

    /** A request with one number, and its response. */
    private final class Requested implements InferSource, Reply {
        private final InferRequest decoded;
        private final Call call;
        private final Map<String, String> headers = new HashMap<>();
        private Runnable beforeSending = () -> {};
        private Runnable beforeResponse = () -> {};
        private boolean notSent;
        private boolean completed;
        private @Nullable OipException failure;

        Requested(int value, Map<String, Parameter> parameters, HeaderFields fields) {
            CallContext context =
                    new CallContext(null, null, fields, loop, memory, MemoryBudget.MemoryReservation.UNCOUNTED, 0);
            call = new Call(new Operation.ServerLive(), Call.NO_DEADLINE, Map.of(), context);
            Tensor input = new Tensor(
                    "x",
                    DataType.INT32,
                    Shape.of(1),
                    parameters,
                    Unpooled.buffer(4).writeIntLE(value));
            decoded = new InferRequest(new ModelRef("served", ""), "", Map.of(), List.of(input), List.of());
        }

        Call call() {
            return call;
        }

        Subscription sendTo(ResponseCache cache) {
            return cache.send(
                    upstream, call, new UpstreamRequest.InferenceRequest(upstream, decoded.model(), this, false), this);
        }

        @Override
        public String id() {
            return decoded.id();
        }

        @Override
        public InferRequest decoded(Upstream server, ModelRef model) {
            return decoded;
        }

        @Override
        public InferMessage encoded(Upstream server, ModelRef model) {
            beforeSending.run();
            return new InferMessage.ProtobufMessage(Unpooled.EMPTY_BUFFER);
        }

        @Override
        public InferMessage copied(ServerFeatures server, ModelRef model) {
            throw new AssertionError("there are no copies");
        }

        @Override
        public void retain() {}

        @Override
        public void release() {}

        @Override
        public void notSent() {
            notSent = true;
        }

        @Override
        public void headers(Map<String, String> more) {
            headers.putAll(more);
        }

        @Override
        public boolean acceptsParts(Wire wire, long length) {
            return true;
        }

        @Override
        public void message(ReplyMessage message) {
            beforeResponse.run();
            message.release();
        }

        @Override
        public void complete() {
            completed = true;
        }

        @Override
        public void fail(OipException reason) {
            failure = reason;
        }

        @Nullable
        ErrorCode failure() {
            return failure == null ? null : failure.code();
        }
    }

    private ResponseCache open(String route, CacheConfig config) {
        ResponseCache cache = caches.open(route, config);
        caches.install(cache);
        return cache;
    }

    private Requested send(ResponseCache cache, int value) {
        Requested requested = new Requested(value, Map.of(), HeaderFields.NONE);
        requested.sendTo(cache);
        return requested;
    }

    /** With a message of about so many bytes. */
    private void respond(int bytes) {
        byte[] message = ModelInferResponse.newBuilder()
                .setId("of the first")
                .addRawOutputContents(ByteString.copyFrom(new byte[bytes]))
                .build()
                .toByteArray();
        upstream.last()
                .reply
                .only(new ReplyMessage.Inference(new InferMessage.ProtobufMessage(Unpooled.wrappedBuffer(message))));
    }

    private double requests(String result) {
        return meters.get("isthmus.cache.requests")
                .tag("result", result)
                .counter()
                .count();
    }

    private double unstored(String reason) {
        return meters.get("isthmus.cache.unstored")
                .tag("reason", reason)
                .counter()
                .count();
    }

    @Test
    void response_isKeptUntilItsTime() {
        ResponseCache cache = open("m", ttl(Duration.ofSeconds(10), true));
        send(cache, 1);
        respond(100);
        now.addAndGet(Duration.ofSeconds(9).toNanos());
        Requested hit = send(cache, 1);
        assertThat(hit.completed).isTrue();
        assertThat(hit.notSent).isTrue();
        assertThat(hit.headers).containsEntry("cache-status", "isthmus; hit; ttl=1");
        now.addAndGet(Duration.ofSeconds(2).toNanos());
        send(cache, 1);
        assertThat(upstream.requests).hasSize(2);
    }

    /** The local backend's response has tensors of its own, which each client releases. */
    @Test
    void decodedResponse_isThatOfEveryEqualRequest() {
        ResponseCache cache = open("m", CacheConfig.DEFAULT);
        send(cache, 1);
        Tensor output = new Tensor(
                "y", DataType.INT32, Shape.of(1), Map.of(), Unpooled.buffer(4).writeIntLE(7));
        InferResponse response = new InferResponse(new ModelRef("served", ""), "", Map.of(), List.of(output));
        upstream.last().reply.only(new ReplyMessage.Inference(new InferMessage.Response(response)));
        for (int hits = 0; hits < 3; hits++) {
            assertThat(send(cache, 1).completed).isTrue();
        }
        assertThat(upstream.requests).hasSize(1);
    }

    @Test
    void memory_isThatOfAllModels() {
        ResponseCache one = open("one", CacheConfig.DEFAULT);
        ResponseCache other = open("other", CacheConfig.DEFAULT);
        send(one, 1);
        respond(2_000);
        send(other, 1);
        respond(2_000);
        assertThat(one.entries()).isZero();
        assertThat(other.entries()).isEqualTo(1);
        assertThat(meters.get("isthmus.cache.evictions")
                        .tag("model", "one")
                        .tag("cause", "size")
                        .counter()
                        .count())
                .isEqualTo(1);
        assertThat(other.purge()).isEqualTo(1);
        assertThat(caches.memory().reserved()).isZero();
        send(other, 1);
        respond(2_000);
        assertThat(caches.memory().reserved()).isPositive();
        one.close();
        other.close();
        assertThat(caches.memory().reserved()).isZero();
        assertThat(meters.getMeters()).isEmpty();
        assertThat(caches.document().path("models")).isEmpty();
    }

    @Test
    void purge_isByRouteAndByModel_andHoldsForWhatWasSentBefore() {
        ResponseCache cache = open("route-*", CacheConfig.DEFAULT);
        for (String name : List.of("served", "route-*")) {
            send(cache, 1);
            respond(10);
            assertThat(caches.purge(Set.of("another"))).isZero();
            assertThat(caches.purge(Set.of(name))).as(name).isEqualTo(1);
        }
        send(cache, 2);
        caches.purge(Set.of("served"));
        respond(10);
        assertThat(unstored("purged")).isEqualTo(1);
        assertThat(cache.entries()).isZero();
    }

    /** A reload that is rejected closes what it has opened. */
    @Test
    void cacheThatIsNotInstalled_isClosed_andTheOneInUseStays() {
        ResponseCache used = open("m", CacheConfig.DEFAULT);
        send(used, 1);
        respond(10);
        caches.open("m", CacheConfig.DEFAULT).close();
        assertThat(caches.document().path("models").path(0).path("entries").asInt())
                .isEqualTo(1);
        assertThat(meters.get("isthmus.cache.entries").gauge().value()).isEqualTo(1);
        assertThat(caches.purge(Set.of("m"))).isEqualTo(1);
        used.close();
        assertThat(meters.getMeters()).isEmpty();
    }

    @Test
    void requestAfterAPurge_doesNotJoinOneBefore() {
        ResponseCache cache = open("m", CacheConfig.DEFAULT);
        send(cache, 1);
        cache.purge();
        send(cache, 1);
        assertThat(upstream.requests).hasSize(2);
    }

    /** In the queue of its upstream, a call has the place of its first request. */
    @Test
    void requestsOfDifferentPriorities_doNotWaitForEachOther() {
        ResponseCache cache = open("m", CacheConfig.DEFAULT);
        send(cache, 1);
        for (int i = 0; i < 2; i++) {
            Requested urgent = new Requested(1, Map.of(), HeaderFields.NONE);
            urgent.call().context().prioritized(1);
            urgent.sendTo(cache);
        }
        assertThat(upstream.requests).hasSize(2);
        assertThat(cache.waiting()).isEqualTo(1);
    }

    @Test
    void withoutTime_nothingIsKept_andTheMemoryIsThatOfOthers() {
        ResponseCache other = open("other", CacheConfig.DEFAULT);
        send(other, 1);
        respond(2_000);
        ResponseCache cache = open("m", ttl(Duration.ZERO, true));
        for (int i = 1; i < 3; i++) {
            Requested each = send(cache, 1);
            respond(2_000);
            assertThat(each.headers).containsEntry("cache-status", "isthmus; fwd=miss");
            assertThat(upstream.requests).hasSize(1 + i);
        }
        assertThat(other.entries()).isEqualTo(1);
        assertThat(cache.entries() + cache.purge()).isZero();
    }

    @Test
    void withoutSingleflight_everyRequestIsSent() {
        ResponseCache cache = open("m", ttl(Duration.ofMinutes(1), false));
        send(cache, 1);
        send(cache, 1);
        assertThat(upstream.requests).hasSize(2);
    }

    @Test
    void sharedMemory_goesToTheServer() {
        ResponseCache cache = open("m", CacheConfig.DEFAULT);
        for (int i = 0; i < 2; i++) {
            Requested requested = new Requested(
                    1, Map.of(Tensor.SHARED_MEMORY_REGION, new Parameter.Text("region")), HeaderFields.NONE);
            requested.sendTo(cache);
            assertThat(requested.headers).containsEntry("cache-status", "isthmus; fwd=bypass; detail=shared_memory");
        }
        assertThat(upstream.requests).hasSize(2);
    }

    @Test
    void responseWithACookie_isNotKept() {
        ResponseCache cache = open("m", CacheConfig.DEFAULT);
        send(cache, 1);
        upstream.last().reply.headers(Map.of("set-cookie", "a=b"));
        respond(10);
        assertThat(unstored("private")).isEqualTo(1);
        send(cache, 1);
        assertThat(upstream.requests).hasSize(2);
    }

    @Test
    void responseWithACookie_isForOneClient_andThoseThatWaitAreSent() {
        ResponseCache cache = open("m", ttl(Duration.ZERO, true));
        send(cache, 1);
        Requested waiting = send(cache, 1);
        upstream.last().reply.headers(Map.of("set-cookie", "session=1"));
        respond(10);
        assertThat(waiting.completed).isFalse();
        assertThat(upstream.requests).hasSize(2);
        respond(10);
        assertThat(waiting.completed).isTrue();
        assertThat(waiting.headers).doesNotContainKey("set-cookie");
    }

    /** In an idle cache they would take the memory of others for ever. */
    @Test
    void expiredResponses_giveTheirMemoryBack_withoutFurtherRequests() {
        ResponseCaches timed = new ResponseCaches(meters, System::nanoTime, LIMIT);
        ResponseCache cache = timed.open("m", ttl(Duration.ofMillis(1), true));
        send(cache, 1);
        respond(100);
        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(timed.memory().reserved()).isZero());
        assertThat(meters.get("isthmus.cache.evictions")
                        .tag("cause", "expired")
                        .counter()
                        .count())
                .isEqualTo(1);
    }

    @Test
    void headersOfTheServer_areMemory() {
        ResponseCache cache = open("m", CacheConfig.DEFAULT);
        send(cache, 1);
        upstream.last().reply.headers(Map.of("ce-source", "x".repeat(1_000)));
        respond(10);
        assertThat(caches.memory().reserved()).isGreaterThan(1_500);
    }

    @Test
    void headersOfTheModel_areThoseOfAll_andThoseOfOneCallAreItsOwn() {
        ResponseCache cache = open("m", CacheConfig.DEFAULT);
        Requested first = send(cache, 1);
        Requested waiting = send(cache, 1);
        upstream.last().reply.headers(Map.of("ce-id", "7", "ce-requestid", "7", "x-user", "a", "ce-modelid", "served"));
        respond(10);
        assertThat(first.headers).containsEntry("ce-id", "7");
        for (Requested each : List.of(waiting, send(cache, 1))) {
            assertThat(each.headers).containsOnlyKeys("cache-status", "ce-modelid");
            assertThat(each.completed).isTrue();
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {"cache-control | no-store", "cache-control | max-age=9, private", "vary | *"})
    void serversWord_isRespected(String name, String value) {
        ResponseCache cache = open("m", CacheConfig.DEFAULT);
        Requested first = send(cache, 1);
        Requested waiting = send(cache, 1);
        upstream.last().reply.headers(Map.of(name, value));
        respond(10);
        assertThat(first.headers).containsEntry("cache-status", "isthmus; fwd=miss");
        assertThat(waiting.completed).isFalse();
        assertThat(upstream.requests).hasSize(2);
        assertThat(unstored("private")).isEqualTo(1);
        assertThat(cache.entries()).isZero();
    }

    /** With the memory of few responses, one model's first ones would otherwise be the only ones for ever. */
    @Test
    void fullMemory_isOfWhatIsUsed_andOfAllModels() {
        ResponseCache busy = open("busy", CacheConfig.DEFAULT);
        ResponseCache other = open("other", CacheConfig.DEFAULT);
        for (int i = 0; i < 20; i++) {
            Requested each = send(busy, i);
            respond(400);
            assertThat(each.headers).containsEntry("cache-status", "isthmus; fwd=miss; stored");
            assertThat(caches.memory().reserved()).isLessThanOrEqualTo(LIMIT);
        }
        send(other, 1);
        respond(400);
        int sent = upstream.requests.size();
        send(busy, 19);
        send(other, 1);
        assertThat(upstream.requests).hasSize(sent);
        assertThat(busy.bytes() + other.bytes())
                .isEqualTo(caches.memory().reserved())
                .isGreaterThan(LIMIT / 2);
    }

    @Test
    void responseLargerThanAllMemory_displacesNothing_andIsNotSaidToBeStored() {
        ResponseCache cache = open("m", CacheConfig.DEFAULT);
        send(cache, 1);
        respond(100);
        Requested large = send(cache, 2);
        respond((int) LIMIT);
        assertThat(large.headers).containsEntry("cache-status", "isthmus; fwd=miss");
        assertThat(unstored("memory")).isEqualTo(1);
        assertThat(cache.entries()).isEqualTo(1);
    }

    /** The response to an equal request came after the look-up, and before the request was about to be sent. */
    @Test
    void responseThatCameMeanwhile_isUsed() {
        ResponseCache cache = open("m", CacheConfig.DEFAULT);
        Requested late = new Requested(1, Map.of(), HeaderFields.NONE);
        late.beforeSending = () -> {
            late.beforeSending = () -> {};
            send(cache, 1);
            respond(10);
        };
        late.sendTo(cache);
        assertThat(late.completed).isTrue();
        assertThat(late.notSent).isTrue();
        assertThat(late.headers.get("cache-status")).startsWith("isthmus; hit");
        assertThat(upstream.requests).hasSize(1);
    }

    @Test
    void responseInParts_isNotSaidToBeStored() {
        ResponseCache cache = caches.open("m", CacheConfig.DEFAULT);
        Requested first = send(cache, 1);
        assertThat(upstream.last().reply.acceptsParts(Wire.PROTOBUF, 2L << 20)).isTrue();
        upstream.last().part();
        upstream.last().reply.complete();
        assertThat(first.headers).containsEntry("cache-status", "isthmus; fwd=miss");
        assertThat(unstored("large")).isEqualTo(1);
    }

    /** It is found out when it is written for the client, who gets 502. */
    @Test
    void invalidResponse_isNotSaidToBeStored() {
        ResponseCache cache = open("m", CacheConfig.DEFAULT);
        Requested refusing = new Requested(1, Map.of(), HeaderFields.NONE);
        Subscription sent = refusing.sendTo(cache);
        refusing.beforeResponse = sent::cancel;
        respond(10);
        assertThat(refusing.headers).containsEntry("cache-status", "isthmus; fwd=miss");
        assertThat(cache.entries()).isZero();
        assertThat(caches.memory().reserved()).isZero();
    }

    /** The others have callers of their own. */
    @ParameterizedTest
    @EnumSource(
            value = FailureCause.class,
            names = {"QUEUE_CALLER_FULL", "QUEUE_DISPLACED"})
    void placeInTheQueue_isThatOfTheFirst(FailureCause cause) {
        ResponseCache cache = caches.open("m", CacheConfig.DEFAULT);
        Requested first = send(cache, 1);
        Requested waiting = send(cache, 1);
        upstream.last().reply.fail(new OipException(ErrorCode.UNAVAILABLE, "no place").because(cause));
        assertThat(first.failure()).isEqualTo(ErrorCode.UNAVAILABLE);
        assertThat(waiting.failure()).isNull();
        assertThat(upstream.requests).hasSize(2);
    }

    @Test
    void brokenUpstream_endsThoseThatWait_andLeavesNothing() {
        ResponseCache cache = open("m", CacheConfig.DEFAULT);
        send(cache, 1);
        Requested waiting = send(cache, 1);
        upstream.broken = true;
        upstream.last().fail(ErrorCode.DEADLINE_EXCEEDED, Processed.MAYBE);
        assertThat(waiting.failure).isNotNull();
        upstream.broken = false;
        send(cache, 1);
        assertThat(upstream.requests).hasSize(2);
    }

    /** The fallback takes it over, for instance: its target was not asked. */
    @Test
    void requestThatWaitsNoLonger_wasNotSent() {
        ResponseCache cache = caches.open("m", CacheConfig.DEFAULT);
        send(cache, 1);
        Requested waiting = new Requested(1, Map.of(), HeaderFields.NONE);
        waiting.sendTo(cache).cancel();
        assertThat(waiting.notSent).isTrue();
        assertThat(upstream.requests).hasSize(1);
        assertThat(requests("collapsed")).isEqualTo(1);
        assertThat(cache.waiting()).isZero();
    }

    @Test
    void responseThatCannotBeKept_isForTheFirst_andOthersAreSent() {
        ResponseCache cache = open("m", CacheConfig.DEFAULT);
        Requested first = send(cache, 1);
        Requested waiting = send(cache, 1);
        InferMessage unexpected = new InferMessage.DecodedRequest(first.decoded, Set.of());
        upstream.last().reply.only(new ReplyMessage.Inference(unexpected));
        assertThat(first.completed).isTrue();
        assertThat(waiting.completed).isFalse();
        assertThat(upstream.requests).hasSize(2);
        respond(10);
        assertThat(waiting.completed).isTrue();
    }

    /** It would be as large for each. */
    @Test
    void responseLargerThanTheGatewayAccepts_isNotAskedForAgain() {
        ResponseCache cache = caches.open("m", CacheConfig.DEFAULT);
        Requested first = send(cache, 1);
        Requested waiting = send(cache, 1);
        upstream.only().reply.fail(new UpstreamFailures("fake", () -> false).responseTooLarge(1, null));
        assertThat(first.failure()).isEqualTo(ErrorCode.BAD_UPSTREAM_ANSWER);
        assertThat(waiting.failure()).isEqualTo(ErrorCode.BAD_UPSTREAM_ANSWER);
        assertThat(upstream.requests).hasSize(1);
    }

    @Test
    void withoutMemoryForTheResponse_aRequestFails_andNothingIsHeld() {
        ResponseCache cache = open("m", CacheConfig.DEFAULT);
        send(cache, 1);
        Requested waiting = send(cache, 1);
        memory.failAfter(0);
        respond(2_000);
        assertThat(waiting.failure()).isEqualTo(ErrorCode.OVERLOADED);
        assertThat(waiting.headers).doesNotContainKey("cache-status");
        memory.failAfter(0);
        assertThatThrownBy(() -> send(cache, 1)).isInstanceOf(OutOfMemoryError.class);
        assertThat(send(cache, 1).completed).isTrue();
        assertThat(memory.held()).isZero();
    }

    @Test
    void requestThatCannotBeHashed_isSent() {
        CacheConfig some = CacheConfig.DEFAULT;
        ResponseCache cache = open(
                "m",
                new CacheConfig(
                        some.ttl(), 1000, 1000, 1000, List.of(), List.of("x-tenant"), false, some.singleflight()));
        HeaderFields broken = name -> {
            throw new IllegalStateException("no header fields");
        };
        Requested requested = new Requested(1, Map.of(), broken);
        assertThat(requested.sendTo(cache)).isSameAs(upstream.only());
        assertThat(requests("fault")).isEqualTo(1);
    }

    @Test
    void withoutMemoryToKeepTheResponse_itsClientGetsIt_andOthersAreSent() {
        ResponseCache cache = open("m", CacheConfig.DEFAULT);
        Requested first = send(cache, 1);
        Requested waiting = send(cache, 1);
        byte[] message = ModelInferResponse.newBuilder()
                .setModelName("served")
                .setId("of the first")
                .addRawOutputContents(ByteString.copyFrom(new byte[2_000]))
                .build()
                .toByteArray();
        ByteBuf received = memory.buffer(message.length).writeBytes(message);
        memory.failAfter(0);
        upstream.last().reply.only(new ReplyMessage.Inference(new InferMessage.ProtobufMessage(received)));
        assertThat(memory.failed()).isTrue();
        assertThat(first.completed).isTrue();
        assertThat(waiting.completed).isFalse();
        assertThat(upstream.requests).hasSize(2);
        assertThat(memory.held()).isZero();
    }
}
