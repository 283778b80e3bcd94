package dev.isthmus.gateway.dispatch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.dispatch.InferCall.PassThroughJson;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.ResponseForm;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.rest.OutputForms;
import dev.isthmus.transcoder.rest.RestBody;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PassThroughJsonTest {
    private static final ResponseForm FORM =
            new ResponseForm(Wire.REST, true, OutputForms.JSON, false, Map.of(), null, null);
    private static final String JSON = "{\"model_name\":\"m\",\"outputs\":["
            + "{\"name\":\"y\",\"datatype\":\"FP32\",\"shape\":[2,2],\"data\":[[1.5,2],[3,-4e-3]]}]}";
    private static final String HEAD = "{\"outputs\":[{\"name\":\"y\",\"datatype\":\"INT8\",\"shape\":[20],"
            + "\"parameters\":{\"binary_data_size\":20}}]}";
    private static final String BINARY = HEAD + "0123456789abcdefghij";

    private final MemoryBudget budget = new MemoryBudget(1 << 20, new SimpleMeterRegistry());
    private final StringBuilder forwarded = new StringBuilder();

    @AfterEach
    void nothingIsCounted() {
        assertThat(budget.usage().used()).isZero();
    }

    private PassThroughJson response(long jsonLength) {
        return new PassThroughJson(
                ByteBufAllocator.DEFAULT, budget.reserve(), new Transcoder(WireLimits.DEFAULT), jsonLength, FORM);
    }

    private static long jsonLength(String body) {
        return body.startsWith(HEAD) ? HEAD.length() : RestBody.ALL_JSON;
    }

    private void forward(ReplyMessage.@Nullable Part part) {
        if (part != null) {
            forwarded.append(part.bytes().toString(StandardCharsets.ISO_8859_1));
            part.release();
        }
    }

    /** Adds the body in parts that end at these positions, and ends it. */
    private void pass(String body, long length, int... ends) {
        forwarded.setLength(0);
        PassThroughJson response = response(jsonLength(body));
        try {
            int from = 0;
            for (int to : ends) {
                if (to > from) {
                    forward(response.add(new ReplyMessage.Part(
                            Unpooled.copiedBuffer(body.substring(from, to), StandardCharsets.ISO_8859_1),
                            length,
                            jsonLength(body))));
                    from = to;
                }
            }
            forward(response.end());
        } finally {
            response.release();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {JSON, BINARY})
    void completeResponse_isForwarded_inWhateverParts(String body) {
        int length = body.length();
        for (long announced : new long[] {length, ReplyMessage.Part.UNKNOWN}) {
            for (int first = 0; first <= length; first++) {
                for (int second = first; second <= length; second += 7) {
                    pass(body, announced, first, second, length);
                    assertThat(forwarded).hasToString(body);
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {JSON, BINARY})
    void truncatedResponse_isNotForwardedWhole_inWhateverParts(String body) {
        for (int length = 1; length < body.length(); length++) {
            int size = length;
            for (int first = 0; first < length; first++) {
                int split = first;
                assertThatThrownBy(() -> pass(body, size, split, size))
                        .isInstanceOfSatisfying(
                                OipException.class,
                                failure -> assertThat(failure.code()).isEqualTo(ErrorCode.BAD_UPSTREAM_ANSWER));
                assertThat(forwarded.length()).isLessThan(length);
            }
        }
    }

    @Test
    void truncatedBinaryData_byteByByte_isNotForwardedWhole() {
        String body = BINARY.substring(0, BINARY.length() - 1);
        int[] ends = new int[body.length()];
        for (int i = 0; i < ends.length; i++) {
            ends[i] = i + 1;
        }
        assertThatThrownBy(() -> pass(body, body.length(), ends)).isInstanceOf(OipException.class);
        assertThat(forwarded.length()).isEqualTo(body.length() - 1);
    }

    /** Only the last part waits: what precedes it is forwarded at once. */
    @Test
    void partsBeforeTheLast_areForwardedAtOnce() {
        PassThroughJson response = response(RestBody.ALL_JSON);
        byte[] bytes = JSON.getBytes(StandardCharsets.ISO_8859_1);
        for (int i = 0; i < bytes.length - 1; i++) {
            forward(response.add(
                    new ReplyMessage.Part(Unpooled.copiedBuffer(bytes, i, 1), bytes.length, RestBody.ALL_JSON)));
            assertThat(forwarded.length()).isEqualTo(i + 1);
        }
        assertThat(response.add(new ReplyMessage.Part(
                        Unpooled.copiedBuffer(bytes, bytes.length - 1, 1), bytes.length, RestBody.ALL_JSON)))
                .isNull();
        forward(response.end());
        response.release();
        assertThat(forwarded).hasToString(JSON);
    }
}
