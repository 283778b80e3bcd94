package dev.isthmus.bench;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import dev.isthmus.transcoder.rest.OutputForms;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestWriter;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufOutputStream;
import java.io.IOException;
import java.io.OutputStream;
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

/** Writes an image as the JSON of a response: our writer and Jackson's, both into a buffer. */
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
    private final JsonFactory jackson = new JsonFactory();

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

    @Benchmark
    @OperationsPerInvocation(Numbers.COUNT)
    public long jackson() throws IOException {
        ByteBuf out = ByteBufAllocator.DEFAULT.directBuffer();
        try (OutputStream stream = new ByteBufOutputStream(out);
                JsonGenerator json = jackson.createGenerator(stream)) {
            json.writeStartArray();
            for (int at = 0; at < raw.writerIndex(); at += numbers.type().size()) {
                switch (numbers.type()) {
                    case FP32 -> json.writeNumber(raw.getFloatLE(at));
                    case FP64 -> json.writeNumber(raw.getDoubleLE(at));
                    case FP16 -> json.writeNumber(Float.float16ToFloat(raw.getShortLE(at)));
                    case UINT8 -> json.writeNumber(raw.getUnsignedByte(at));
                    default -> json.writeNumber(raw.getLongLE(at));
                }
            }
            json.writeEndArray();
            json.flush();
            return out.readableBytes();
        } finally {
            out.release();
        }
    }
}
