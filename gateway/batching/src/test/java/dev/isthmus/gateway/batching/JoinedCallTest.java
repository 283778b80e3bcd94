package dev.isthmus.gateway.batching;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Principal;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.settings.AccessConfig.IdentifiedBy;
import dev.isthmus.gateway.settings.BatchingConfig;
import dev.isthmus.gateway.upstream.FakeUpstream;
import dev.isthmus.gateway.upstream.RecordedReply;
import dev.isthmus.gateway.upstream.UpstreamBench;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.WireLimits;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.ByteBuf;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What an upstream is told of a joined call, and its requests of the response. */
class JoinedCallTest {
    private final FakeUpstream upstream = new FakeUpstream();
    private final List<RecordedReply> replies = new ArrayList<>();
    private UpstreamBench bench;
    private RouteBatching batching;

    @BeforeEach
    void open() {
        bench = new UpstreamBench();
        SimpleMeterRegistry meters = new SimpleMeterRegistry();
        batching = new RouteBatching(
                "route",
                new BatchingConfig(32, 10_000_000, 1 << 20),
                WireLimits.DEFAULT,
                new MemoryBudget(1 << 20, meters),
                meters,
                () -> 0);
    }

    @AfterEach
    void close() {
        batching.close();
        bench.close();
    }

    private static ModelInferRequest rows(int rows) {
        ModelInferRequest.Builder request = ModelInferRequest.newBuilder().setModelName("m");
        request.addInputsBuilder().setName("IN").setDatatype("UINT8").addShape(rows);
        return request.addRawInputContents(ByteString.copyFrom(new byte[rows])).build();
    }

    private ByteBuf buffer(byte[] bytes) {
        return bench.allocator().buffer().writeBytes(bytes);
    }

    private void send(String caller, long priority) {
        Call call = bench.call();
        CallContext context = call.context();
        context.authenticated(new Principal(caller, Set.of("team"), Map.of(), IdentifiedBy.API_KEY));
        context.prioritized(priority);
        context.forwardedFor(new InetSocketAddress("192.0.2.1", 7));
        InferMessage message = new InferMessage.ProtobufMessage(buffer(rows(1).toByteArray()));
        replies.add(bench.send(reply -> batching.send(
                upstream, call, new UpstreamRequest.InferenceRequest(BatchingBench.MODEL, message), reply)));
    }

    /** Answers the last call, with some rows. */
    private void respond(int rows, Map<String, String> headers) throws Exception {
        respond(RowServer.answer(rows(rows)).toByteArray(), headers);
    }

    private void respond(byte[] message, Map<String, String> headers) throws Exception {
        respond(upstream.last(), message, headers);
    }

    private void respond(FakeUpstream.ReceivedRequest request, byte[] message, Map<String, String> headers)
            throws Exception {
        bench.loop()
                .submit(() -> {
                    request.reply.headers(headers);
                    request.reply.only(new ReplyMessage.Inference(new InferMessage.ProtobufMessage(buffer(message))));
                })
                .get();
    }

    /** Two requests that wait until a first one has been answered. */
    private void join() throws Exception {
        send("first", 0);
        send("alice", 1);
        send("bob", 1);
        bench.settle();
        respond(1, Map.of());
    }

    @Test
    void queueOfTheUpstream_seesTheFirstCaller_andThePriority() throws Exception {
        join();
        CallContext joined = upstream.last().call.context();
        respond(2, Map.of());
        for (RecordedReply each : replies) {
            each.response().release();
        }
        assertThat(upstream.requests).hasSize(2);
        assertThat(joined.principal().name()).isEqualTo("alice");
        assertThat(joined.principal().groups()).containsExactly("team");
        assertThat(joined.priority()).isEqualTo(1);
        assertThat(joined.peer()).isEqualTo(new InetSocketAddress("192.0.2.1", 7));
    }

    @Test
    void headersOfTheModel_areThoseOfAll_andNoOthers() throws Exception {
        join();
        respond(2, Map.of("ce-id", "alice-1", "x-user", "alice", "ce-modelid", "m"));
        for (RecordedReply each : replies.subList(1, 3)) {
            each.response().release();
            assertThat(each.headers()).containsExactly(Map.entry("ce-modelid", "m"));
        }
        replies.getFirst().response().release();
    }

    /** Each client gets a part of it, and the gateway's cache learns that it is not to be kept. */
    @ParameterizedTest
    @CsvSource({"cache-control, private", "vary, *", "set-cookie, session=1"})
    void responseMeantForOneClient_isKeptByNobody(String name, String value) throws Exception {
        join();
        respond(2, Map.of(name, value, "ce-modelid", "m"));
        for (RecordedReply each : replies.subList(1, 3)) {
            each.response().release();
            assertThat(each.headers())
                    .containsOnly(Map.entry("ce-modelid", "m"), Map.entry("cache-control", "no-store"));
        }
        replies.getFirst().response().release();
    }

    @Test
    void malformedResponse_isReleased_andEachRequestTriedAlone() throws Exception {
        join();
        // An output without its length.
        respond(new byte[] {0x2a, (byte) 0xff}, Map.of());
        for (int alone = 2; alone < 4; alone++) {
            bench.settle();
            respond(upstream.requests.get(alone), RowServer.answer(rows(1)).toByteArray(), Map.of());
        }
        for (RecordedReply each : replies) {
            each.response().release();
        }
    }
}
