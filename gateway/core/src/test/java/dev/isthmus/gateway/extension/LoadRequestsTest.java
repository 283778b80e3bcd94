package dev.isthmus.gateway.extension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.google.protobuf.ByteString;
import com.sun.management.ThreadMXBean;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.RepositoryModelLoadRequest;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Random;
import org.junit.jupiter.api.Test;

class LoadRequestsTest {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private static RepositoryModelLoadRequest.Builder load() {
        return RepositoryModelLoadRequest.newBuilder().setRepositoryName("r").setModelName("m");
    }

    private static ByteBuf text(String text) {
        return ByteBufAllocator.DEFAULT.directBuffer().writeBytes(text.getBytes(StandardCharsets.UTF_8));
    }

    private static RepositoryModelLoadRequest turned(String json) throws Exception {
        ByteBuf body = text(json);
        try {
            ByteBuf turned = LoadRequests.toProtobuf(load(), body);
            try {
                return RepositoryModelLoadRequest.parseFrom(turned.nioBuffer());
            } finally {
                turned.release();
            }
        } finally {
            body.release();
        }
    }

    @Test
    void parameters_haveTheirTypes_andComeBack() throws Exception {
        String json = "{\"other\":[1,{\"parameters\":2}],\"parameters\":{\"config\":\"{}\",\"file:a\":\"aGk=\","
                + "\"n\":-9223372036854775808,\"b\":true}}";
        RepositoryModelLoadRequest load = turned(json);
        assertThat(load.getRepositoryName()).isEqualTo("r");
        assertThat(load.getModelName()).isEqualTo("m");
        assertThat(load.getParametersOrThrow("config").getStringParam()).isEqualTo("{}");
        assertThat(load.getParametersOrThrow("file:a").getBytesParam()).isEqualTo(ByteString.copyFromUtf8("hi"));
        assertThat(load.getParametersOrThrow("n").getInt64Param()).isEqualTo(Long.MIN_VALUE);
        assertThat(load.getParametersOrThrow("b").getBoolParam()).isTrue();
        ByteBuf message = ByteBufAllocator.DEFAULT.directBuffer().writeBytes(load.toByteArray());
        ByteBuf back = LoadRequests.toJson(message);
        assertThat(turned(back.toString(StandardCharsets.UTF_8))).isEqualTo(load);
        back.release();
        message.release();
        assertThat(turned("").getParametersMap()).isEmpty();
        assertThat(turned("{}").getParametersMap()).isEmpty();
        assertThat(turned("{\"parameters\":null}").getParametersMap()).isEmpty();
    }

    @Test
    void parameter_ofAnotherKind_isRefused() {
        for (String value : new String[] {"null", "1.5", "[]", "{}", "9223372036854775808"}) {
            assertThat(catchThrowableOfType(OipException.class, () -> turned("{\"parameters\":{\"p\":" + value + "}}"))
                            .message())
                    .isEqualTo("parameter 'p': a string, an integer or a boolean is expected");
        }
        for (String value : new String[] {"[]", "\"p\"", "1", "true"}) {
            assertThat(catchThrowableOfType(OipException.class, () -> turned("{\"parameters\":" + value + "}"))
                            .message())
                    .isEqualTo("'parameters': an object is expected");
        }
        assertThat(catchThrowableOfType(OipException.class, () -> turned("{\"parameters\":{\"file:a\":\"no!\"}}"))
                        .message())
                .isEqualTo("'file:a': base64 is expected");
    }

    @Test
    void file_takesOfTheHeapAboutTwiceItsLength() throws Exception {
        byte[] file = new byte[4 << 20];
        new Random(3).nextBytes(file);
        ByteBuf body =
                text("{\"parameters\":{\"file:a\":\"" + Base64.getEncoder().encodeToString(file) + "\"}}");
        LoadRequests.toProtobuf(load(), body).release();
        long before = THREADS.getCurrentThreadAllocatedBytes();
        ByteBuf message = LoadRequests.toProtobuf(load(), body);
        assertThat(THREADS.getCurrentThreadAllocatedBytes() - before).isLessThan(3L * file.length);
        before = THREADS.getCurrentThreadAllocatedBytes();
        ByteBuf back = LoadRequests.toJson(message);
        assertThat(THREADS.getCurrentThreadAllocatedBytes() - before).isLessThan(3L * file.length);
        assertThat(back).isEqualTo(body);
        back.release();
        message.release();
        body.release();
    }
}
