package dev.isthmus.bench;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.WireLimits;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestRequest;
import dev.isthmus.transcoder.rest.RestRequestReader;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;

/** An image of 150,528 FP32 as JSON: our reader on 64 KiB chunks, beside Jackson's streaming parser on the whole. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(1)
public class JsonTensorBenchmark {
    private static final int FLOATS = 3 * 224 * 224;
    private static final int CHUNK = 64 * 1024;

    private byte[] body = new byte[0];
    private ByteBuf buffer = ByteBufAllocator.DEFAULT.directBuffer();
    private final JsonFactory jackson = JsonFactory.builder()
            .enable(StreamReadFeature.USE_FAST_DOUBLE_PARSER)
            .build();

    public static void main(String[] arguments) throws RunnerException {
        new Runner(new OptionsBuilder()
                        .include(JsonTensorBenchmark.class.getSimpleName())
                        .build())
                .run();
    }

    @Setup
    public void setup() {
        SplittableRandom random = new SplittableRandom(1);
        StringBuilder json = new StringBuilder(
                "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,3,224,224],\"data\":[");
        for (int i = 0; i < FLOATS; i++) {
            json.append(i == 0 ? "" : ",").append((float) random.nextDouble());
        }
        body = json.append("]}]}").toString().getBytes(StandardCharsets.US_ASCII);
        buffer = ByteBufAllocator.DEFAULT.directBuffer().writeBytes(body);
    }

    @Benchmark
    @OperationsPerInvocation(FLOATS)
    public RestRequest isthmus() {
        RestRequestReader reader = new RestRequestReader(
                ByteBufAllocator.DEFAULT, ModelRef.of("m"), RestBody.ALL_JSON, false, WireLimits.DEFAULT);
        for (int at = 0; at < body.length; at += CHUNK) {
            reader.feed(buffer.slice(at, Math.min(CHUNK, body.length - at)));
        }
        RestRequest request = reader.finish();
        request.request().release();
        return request;
    }

    @Benchmark
    @OperationsPerInvocation(FLOATS)
    public float jacksonStreaming() throws IOException {
        float sum = 0;
        try (JsonParser parser = jackson.createParser(body)) {
            for (JsonToken token = parser.nextToken(); token != null; token = parser.nextToken()) {
                if (token == JsonToken.VALUE_NUMBER_FLOAT) {
                    sum += parser.getFloatValue();
                }
            }
        }
        return sum;
    }
}
