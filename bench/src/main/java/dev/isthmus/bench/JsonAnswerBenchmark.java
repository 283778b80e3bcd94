package dev.isthmus.bench;

import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.rest.OutputForms;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestWriter;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** Writes an image as the JSON of a response. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class JsonAnswerBenchmark {
    @Param({"F9", "NORMAL", "SHORT", "U8", "I64", "D17", "H4"})
    private Numbers numbers = Numbers.F9;

    private final ByteBuf raw = ByteBufAllocator.DEFAULT.directBuffer();

    @Setup
    public void setup() {
        numbers.raw(raw);
    }

    @TearDown(Level.Trial)
    public void release() {
        raw.release();
    }

    @Benchmark
    @OperationsPerInvocation(Numbers.COUNT)
    public long isthmus() {
        Tensor tensor = new Tensor("y", numbers.type(), Shape.of(1, 3, 224, 224), Map.of(), raw.retainedDuplicate());
        InferResponse response = new InferResponse(ModelRef.of("m"), "", Map.of(), List.of(tensor));
        RestBody body = RestWriter.response(ByteBufAllocator.DEFAULT, response, OutputForms.JSON);
        int length = body.content().readableBytes();
        body.content().release();
        return length;
    }
}
