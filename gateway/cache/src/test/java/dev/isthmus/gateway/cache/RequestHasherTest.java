package dev.isthmus.gateway.cache;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.HeaderFields;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Principal;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.settings.AccessConfig.IdentifiedBy;
import dev.isthmus.gateway.settings.CacheConfig;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.RequestedOutput;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.DefaultEventLoop;
import io.netty.channel.EventLoop;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class RequestHasherTest {
    private static final Tensor A = input("a", DataType.INT32, 1, "1234");
    private static final Tensor B = input("b", DataType.INT32, 1, "5678");

    private final RequestHasher hasher = new RequestHasher(new HashSecret());
    private final EventLoop loop = new DefaultEventLoop();

    @AfterEach
    void stop() {
        loop.shutdownGracefully(0, 0, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private static Tensor input(String name, DataType type, long extent, String data) {
        return new Tensor(
                name,
                type,
                Shape.of(extent),
                Map.of(),
                Unpooled.wrappedBuffer(data.getBytes(StandardCharsets.US_ASCII)));
    }

    private static InferRequest request(Map<String, Parameter> parameters, List<Tensor> inputs, String... outputs) {
        return new InferRequest(
                new ModelRef("m", "1"),
                "id",
                parameters,
                inputs,
                List.of(outputs).stream()
                        .map(name -> new RequestedOutput(name, Map.of()))
                        .toList());
    }

    private Call call(Map<String, String> forwarded, HeaderFields fields, String caller) {
        CallContext context = new CallContext(
                null,
                null,
                fields,
                loop,
                UnpooledByteBufAllocator.DEFAULT,
                MemoryBudget.MemoryReservation.UNCOUNTED,
                0);
        context.authenticated(new Principal(caller, Set.of(), Map.of(), IdentifiedBy.API_KEY));
        return new Call(new Operation.ServerLive(), Call.NO_DEADLINE, forwarded, context);
    }

    private CacheKey key(InferRequest request) {
        return hasher.key(CacheConfig.DEFAULT, call(Map.of(), HeaderFields.NONE, "me"), "u", request);
    }

    private static CacheConfig config(List<String> parameters, List<String> headers, boolean caller) {
        CacheConfig some = CacheConfig.DEFAULT;
        return new CacheConfig(
                Duration.ofSeconds(1),
                some.maxBytes(),
                some.maxResponse(),
                some.maxRequest(),
                parameters,
                headers,
                caller,
                true);
    }

    @Test
    void orderOfParameters_idAndMemory_makeNoDifference() {
        InferRequest request =
                request(Map.of("p", new Parameter.Int64(1), "q", new Parameter.Bool(true)), List.of(A, B));
        InferRequest other = new InferRequest(
                request.model(),
                "other",
                Map.of("q", new Parameter.Bool(true), "p", new Parameter.Int64(1)),
                List.of(A, B),
                List.of());
        assertThat(key(other)).isEqualTo(key(request));
    }

    @Test
    void everythingElse_distinguishesRequests() {
        Set<CacheKey> keys = new HashSet<>();
        List<InferRequest> requests = List.of(
                request(Map.of(), List.of(A, B)),
                // MLServer makes columns of the inputs in their order.
                request(Map.of(), List.of(B, A)),
                request(Map.of(), List.of(A)),
                request(Map.of(), List.of(A, B), "x"),
                request(Map.of(), List.of(A, B), "x", "y"),
                request(Map.of(), List.of(A, B), "y", "x"),
                request(Map.of(), List.of(A, input("b", DataType.INT32, 1, "5679"))),
                request(Map.of(), List.of(A, input("b", DataType.FP32, 1, "5678"))),
                request(Map.of(), List.of(A, input("b", DataType.UINT8, 4, "5678"))),
                request(Map.of(), List.of(A, input("c", DataType.INT32, 1, "5678"))),
                request(Map.of("p", new Parameter.Int64(1)), List.of(A, B)),
                request(Map.of("p", new Parameter.Uint64(1)), List.of(A, B)),
                request(Map.of("p", new Parameter.Float64(1)), List.of(A, B)),
                request(Map.of("p", new Parameter.Bool(true)), List.of(A, B)),
                request(Map.of("p", new Parameter.Text("1")), List.of(A, B)),
                request(Map.of("p", new Parameter.Json("1")), List.of(A, B)),
                request(Map.of("pp", new Parameter.Text("")), List.of(A, B)),
                request(Map.of(), List.of(A, B)).withModel(new ModelRef("m", "2")),
                request(Map.of(), List.of(A, B)).withModel(new ModelRef("m2", "1")),
                request(Map.of(), List.of(A, B)).withModel(new ModelRef("m1", "")));
        requests.forEach(
                request -> assertThat(keys.add(key(request))).as("%s", request).isTrue());
        assertThat(hasher.key(
                        CacheConfig.DEFAULT,
                        call(Map.of(), HeaderFields.NONE, "me"),
                        "other",
                        request(Map.of(), List.of(A, B))))
                .isNotIn(keys);
    }

    @Test
    void largeTensors_areHashedToTheEnd() {
        String large = "x".repeat(100_000);
        Tensor one = input("a", DataType.UINT8, 100_000, large);
        Tensor other = input("a", DataType.UINT8, 100_000, large.substring(1) + "y");
        assertThat(key(request(Map.of(), List.of(one)))).isEqualTo(key(request(Map.of(), List.of(one))));
        assertThat(key(request(Map.of(), List.of(one)))).isNotEqualTo(key(request(Map.of(), List.of(other))));
    }

    @Test
    void parameters_maySaySomethingOrNothing() {
        CacheConfig config = config(List.of("tier"), List.of(), false);
        Call call = call(Map.of(), HeaderFields.NONE, "me");
        CacheKey gold = hasher.key(
                config,
                call,
                "u",
                request(Map.of("tier", new Parameter.Text("gold"), "trace", new Parameter.Int64(1)), List.of(A)));
        assertThat(hasher.key(config, call, "u", request(Map.of("tier", new Parameter.Text("gold")), List.of(A))))
                .isEqualTo(gold);
        assertThat(hasher.key(config, call, "u", request(Map.of("tier", new Parameter.Text("free")), List.of(A))))
                .isNotEqualTo(gold);
    }

    @Test
    void headers_countIfTheyAreForwardedOrConfigured() {
        InferRequest request = request(Map.of(), List.of(A));
        HeaderFields tenant = name -> name.equals("x-tenant") ? "a" : null;
        CacheConfig configured = config(List.of(), List.of("x-tenant"), false);
        CacheKey plain = key(request);
        assertThat(hasher.key(CacheConfig.DEFAULT, call(Map.of(), tenant, "me"), "u", request))
                .isEqualTo(plain);
        assertThat(hasher.key(CacheConfig.DEFAULT, call(Map.of("authorization", "me"), tenant, "me"), "u", request))
                .isNotEqualTo(plain);
        assertThat(hasher.key(
                        CacheConfig.DEFAULT,
                        call(Map.of("traceparent", "1", "x-request-id", "2"), tenant, "me"),
                        "u",
                        request))
                .isEqualTo(plain);
        assertThat(hasher.key(configured, call(Map.of(), tenant, "me"), "u", request))
                .isNotEqualTo(hasher.key(configured, call(Map.of(), HeaderFields.NONE, "me"), "u", request));
    }

    @Test
    void callers_areDistinguishedIfTheConfigurationSaysSo() {
        InferRequest request = request(Map.of(), List.of(A));
        Call me = call(Map.of(), HeaderFields.NONE, "me");
        Call you = call(Map.of(), HeaderFields.NONE, "you");
        CacheConfig shared = config(List.of(), List.of(), false);
        CacheConfig own = config(List.of(), List.of(), true);
        assertThat(hasher.key(shared, me, "u", request)).isEqualTo(hasher.key(shared, you, "u", request));
        assertThat(hasher.key(own, me, "u", request)).isNotEqualTo(hasher.key(own, you, "u", request));
    }

    @Test
    void anotherProcess_hasOtherKeys() {
        RequestHasher other = new RequestHasher(new HashSecret());
        InferRequest request = request(Map.of(), List.of(A));
        assertThat(other.key(CacheConfig.DEFAULT, call(Map.of(), HeaderFields.NONE, "me"), "u", request))
                .isNotEqualTo(key(request));
    }
}
