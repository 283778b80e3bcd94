package dev.isthmus.bench;

import dev.isthmus.gateway.cache.CacheKey;
import dev.isthmus.gateway.cache.HashSecret;
import dev.isthmus.gateway.cache.RequestHasher;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.settings.CacheConfig;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** What the key of a request costs that is looked up in the cache; 602,112 bytes are an image of 224 by 224 pixels. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(1)
public class CacheKeyBenchmark {
    private static final int PIECE = 100_000;

    @Param({"256", "4096", "602112"})
    private int bytes;

    private final RequestHasher hasher = new RequestHasher(HashSecret.random());
    private final Call call = new Call(
            new Operation.ServerLive(),
            Call.NO_DEADLINE,
            Map.of(),
            new EmbeddedChannel().eventLoop(),
            UnpooledByteBufAllocator.DEFAULT);
    private InferRequest whole = new InferRequest(ModelRef.of("m"), "", Map.of(), List.of(), List.of());
    private InferRequest parts = whole;

    /** Makes a request in one buffer, and the same in several. */
    @Setup
    public void start() {
        byte[] data = new byte[bytes];
        new Random(1).nextBytes(data);
        whole = request(Unpooled.directBuffer(bytes).writeBytes(data));
        CompositeByteBuf composite = Unpooled.compositeBuffer();
        for (int from = 0; from < bytes; from += PIECE) {
            int length = Math.min(PIECE, bytes - from);
            composite.addComponent(true, Unpooled.directBuffer(length).writeBytes(data, from, length));
        }
        parts = request(composite);
    }

    private InferRequest request(ByteBuf data) {
        Tensor input = new Tensor("x", DataType.UINT8, Shape.of(bytes), Map.of(), data);
        return new InferRequest(new ModelRef("resnet", "1"), "", Map.of(), List.of(input), List.of());
    }

    /** Releases both. */
    @TearDown
    public void stop() {
        whole.release();
        parts.release();
    }

    @Benchmark
    public CacheKey oneBuffer() {
        return hasher.key(CacheConfig.DEFAULT, call, "triton", whole);
    }

    @Benchmark
    public CacheKey buffersOfOneHundredKilobytes() {
        return hasher.key(CacheConfig.DEFAULT, call, "triton", parts);
    }
}
