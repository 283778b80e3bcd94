package dev.isthmus.bench;

import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestRequest;
import dev.isthmus.transcoder.rest.RestRequestReader;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
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

/** Reads an image from JSON, which arrives in chunks of 64 KiB, into a checked tensor. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class JsonTensorBenchmark {
    private static final int CHUNK = 64 * 1024;

    @Param
    private Numbers numbers = Numbers.F9;

    private byte[] body = new byte[0];
    private ByteBuf buffer = ByteBufAllocator.DEFAULT.directBuffer();

    @Setup
    public void setup() {
        body = numbers.request();
        buffer.writeBytes(body);
    }

    @TearDown(Level.Trial)
    public void release() {
        buffer.release();
    }

    @Benchmark
    @OperationsPerInvocation(Numbers.COUNT)
    public RestRequest isthmus() {
        return read(new RestRequestReader(
                ByteBufAllocator.DEFAULT, ModelRef.of("m"), RestBody.ALL_JSON, false, WireLimits.DEFAULT));
    }

    /** A request that is forwarded unchanged: numbers are only counted. */
    @Benchmark
    @OperationsPerInvocation(Numbers.COUNT)
    public RestRequest isthmusSkimming() {
        return read(RestRequestReader.skimming(ByteBufAllocator.DEFAULT, ModelRef.of("m"), false, WireLimits.DEFAULT));
    }

    private RestRequest read(RestRequestReader reader) {
        for (int at = 0; at < body.length; at += CHUNK) {
            reader.feed(buffer.slice(at, Math.min(CHUNK, body.length - at)));
        }
        RestRequest request = reader.finish();
        request.request().release();
        return request;
    }
}
