package dev.isthmus.gateway.shadow;

import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Operation.BodyForm;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.settings.ModelConfig;
import dev.isthmus.gateway.shadow.Shadows.ShadowCopies;
import dev.isthmus.gateway.upstream.FakeUpstream;
import dev.isthmus.gateway.upstream.InferSource;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.ModelInferResponse;
import dev.isthmus.testing.FailingAllocator;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.message.Dialect;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.rest.RestBody;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.search.Search;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.util.AsciiString;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** One shadow of model "m" on the upstream "next", a loop that runs on demand, and a manual clock. */
final class ShadowStage implements AutoCloseable {
    static final ModelConfig.ShadowConfig SHADOW =
            new ModelConfig.ShadowConfig(null, "next", null, null, 1, true, 1e-5, 1e-8, Duration.ofSeconds(5), 2);
    private static final int REQUEST_BYTES = 100;
    private static final int PATIENCE_SECONDS = 20;

    final AtomicLong now = new AtomicLong(1);
    final MeterRegistry registry = new SimpleMeterRegistry();
    final FakeUpstream upstream = new FakeUpstream();
    final EmbeddedChannel channel = new EmbeddedChannel();
    final FailingAllocator memory = new FailingAllocator();
    final Queue<Double> differences = new ConcurrentLinkedQueue<>();
    final ShadowRuntime runtime;
    final Shadows shadows;
    boolean stream;
    boolean sequence;
    int released;

    @Nullable
    ServerFeatures preparedFor;

    @Nullable
    OipException unsendable;

    ShadowStage() {
        this(SHADOW, ShadowLimits.DEFAULT);
    }

    ShadowStage(ModelConfig.ShadowConfig config, ShadowLimits limits) {
        runtime = new ShadowRuntime(
                registry,
                new SplittableRandom(42),
                now::get,
                (model, shadow, difference) -> differences.add(difference),
                limits);
        shadows = shadows(config);
        upstream.features = new ServerFeatures(Wire.PROTOBUF, Dialect.GENERIC, true, true);
    }

    Shadows shadows(ModelConfig.ShadowConfig... configs) {
        return Shadows.of(
                "m",
                List.of(configs),
                model -> List.of(new Target(upstream, new ModelRef("m2", "7"), "next")),
                new Transcoder(WireLimits.DEFAULT),
                runtime);
    }

    /** A call whose primary request was just sent; its copies wait for the loop. */
    ShadowCopies begin() {
        return begin(new Target(upstream, ModelRef.of("m"), "main"));
    }

    /** @param main the target of the call itself */
    ShadowCopies begin(Target main) {
        return shadows.begin(call(channel.eventLoop()), ModelRef.of("m"), main, source());
    }

    Call call(EventLoop on) {
        Operation operation =
                new Operation.Infer(ModelRef.of("m"), new BodyForm.RestForm(RestBody.ALL_JSON, -1, null), stream);
        CallContext context = CallContext.internal(on, memory);
        context.identified(AsciiString.of("r-1"), false);
        return new Call(operation, Call.NO_DEADLINE, Map.of("x-a", "b"), context)
                .withAffinity(17, sequence ? Call.EARLIER : Call.NO_SEQUENCE);
    }

    InferSource source() {
        return new Source();
    }

    ShadowCopies sent() {
        ShadowCopies observation = begin();
        runLoop();
        return observation;
    }

    void runLoop() {
        channel.runPendingTasks();
    }

    private final class Source implements InferSource {
        @Override
        public String id() {
            return "";
        }

        @Override
        public InferRequest decoded(Upstream server, ModelRef model) {
            throw new AssertionError("copies are not decoded");
        }

        @Override
        public InferMessage encoded(Upstream server, ModelRef model) {
            throw new AssertionError("the primary request is sent");
        }

        @Override
        public void retain() {}

        @Override
        public InferMessage copied(ServerFeatures peer, ModelRef model) {
            preparedFor = peer;
            if (unsendable != null) {
                throw unsendable;
            }
            return new InferMessage.ProtobufMessage(memory.directBuffer().writeZero(REQUEST_BYTES));
        }

        @Override
        public void release() {
            released++;
        }
    }

    /** A response with one FP32 output per name, in protobuf. */
    static InferMessage floats(String output, float... values) {
        ByteBuffer raw = ByteBuffer.allocate(values.length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        for (float value : values) {
            raw.putFloat(value);
        }
        return response(output, "FP32", values.length, raw.flip());
    }

    /** The same in JSON. */
    static InferMessage json(String output, String values, int count) {
        String text = "{\"model_name\":\"m\",\"outputs\":[{\"name\":\"" + output
                + "\",\"datatype\":\"FP32\",\"shape\":[" + count + "],\"data\":[" + values + "]}]}";
        return new InferMessage.RestMessage(
                new RestBody(buffer(text.getBytes(StandardCharsets.UTF_8)), RestBody.ALL_JSON));
    }

    static InferMessage bools(int... values) {
        ByteBuffer raw = ByteBuffer.allocate(values.length);
        for (int value : values) {
            raw.put((byte) value);
        }
        return response("flags", "BOOL", values.length, raw.flip());
    }

    static InferMessage garbage() {
        return new InferMessage.ProtobufMessage(buffer(new byte[] {(byte) 0xff, 1, 2, 3}));
    }

    private static InferMessage response(String output, String datatype, long extent, ByteBuffer raw) {
        return new InferMessage.ProtobufMessage(buffer(ModelInferResponse.newBuilder()
                .setModelName("m")
                .addOutputs(ModelInferResponse.InferOutputTensor.newBuilder()
                        .setName(output)
                        .setDatatype(datatype)
                        .addShape(extent))
                .addRawOutputContents(ByteString.copyFrom(raw))
                .build()
                .toByteArray()));
    }

    private static ByteBuf buffer(byte[] bytes) {
        return ByteBufAllocator.DEFAULT.directBuffer().writeBytes(bytes);
    }

    /** Reports the primary response, which is then passed to the client's reply. */
    static void respond(ShadowCopies observation, InferMessage main) {
        observation.responded(main);
        main.release();
    }

    double requests(String outcome, String reason) {
        return registry.get("isthmus.shadow.requests")
                .tags("model", "m", "shadow", "next", "outcome", outcome, "reason", reason)
                .counter()
                .count();
    }

    double comparisons(String outcome) {
        return registry.get("isthmus.shadow.comparisons")
                .tags("model", "m", "shadow", "next", "outcome", outcome)
                .counter()
                .count();
    }

    void awaitComparison(String outcome) {
        await().atMost(Duration.ofSeconds(PATIENCE_SECONDS)).untilAsserted(() -> {
            if (comparisons(outcome) != 1 || runtime.held().reserved() != 0) {
                throw new AssertionError("no comparison came out " + outcome);
            }
        });
    }

    Search output(String meter, String output) {
        return registry.find("isthmus.shadow." + meter).tags("model", "m", "shadow", "next", "output", output);
    }

    double mismatches(String reason) {
        return registry.get("isthmus.shadow.mismatch")
                .tags("model", "m", "shadow", "next", "reason", reason)
                .counter()
                .count();
    }

    @Override
    public void close() {
        shadows.close();
        runtime.close();
    }
}
