package dev.isthmus.gateway.ingress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.google.protobuf.ByteString;
import com.sun.management.ThreadMXBean;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.ModelReadyRequest;
import dev.isthmus.proto.ModelRepositoryParameter;
import dev.isthmus.proto.RepositoryModelLoadRequest;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;

/** Heap allocation while the operation of a non-inference message is determined. */
class GrpcRoutesTest {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final int MANY = 500_000;

    private static Operation read(String method, ByteBuf message) {
        return GrpcRoutes.method("/inference.GRPCInferenceService/" + method).operation(message);
    }

    private static long taken(Runnable step) {
        step.run();
        long before = THREADS.getCurrentThreadAllocatedBytes();
        step.run();
        return THREADS.getCurrentThreadAllocatedBytes() - before;
    }

    /** Distinct varint fields. */
    private static ByteBuf unknownFields() {
        ByteBuf fields = Unpooled.directBuffer();
        for (int number = 100; number < 100 + MANY; number++) {
            int tag = number << 3;
            for (; tag >>> 7 != 0; tag >>>= 7) {
                fields.writeByte((tag & 0x7f) | 0x80);
            }
            fields.writeByte(tag).writeByte(1);
        }
        return fields;
    }

    @Test
    void unknownFields_areNotKept() {
        ByteBuf message = unknownFields()
                .writeBytes(ModelReadyRequest.newBuilder().setName("m").build().toByteArray());
        assertThat(read("ModelReady", message)).isEqualTo(new Operation.ModelReady(ModelRef.of("m")));
        // The message is copied at most once.
        assertThat(taken(() -> read("ModelReady", message))).isLessThan(2L * message.readableBytes());
        message.release();
    }

    @Test
    void load_withFiles_leavesThemWhereTheyAre() {
        byte[] load = RepositoryModelLoadRequest.newBuilder()
                .setModelName("m")
                .setRepositoryName("r")
                .putParameters(
                        "file:1/model.onnx",
                        ModelRepositoryParameter.newBuilder()
                                .setBytesParam(ByteString.copyFrom(new byte[8 << 20]))
                                .build())
                .build()
                .toByteArray();
        ByteBuf half = Unpooled.directBuffer().writeBytes(load, 0, load.length / 2);
        ByteBuf rest = Unpooled.directBuffer().writeBytes(load, load.length / 2, load.length - load.length / 2);
        ByteBuf message = Unpooled.compositeBuffer().addComponents(true, half, rest);
        assertThat(read("RepositoryModelLoad", message))
                .isEqualTo(new Operation.Manage(Extension.REPOSITORY_LOAD, ModelRef.of("m"), "r", true, false, false));
        assertThat(taken(() -> read("RepositoryModelLoad", message))).isLessThan(64 << 10);
        message.release();
    }

    @Test
    void load_ofManyFields_isRefused() {
        ByteBuf message = unknownFields();
        OipException failure = catchThrowableOfType(OipException.class, () -> read("RepositoryModelLoad", message));
        message.release();
        assertThat(failure.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT);
        assertThat(failure.message()).contains("at most 1024 fields");
    }
}
