package dev.isthmus.gateway.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class GrpcWebFormTest {
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            application/grpc-web                      | BINARY
            application/grpc-web+proto                | BINARY
            Application/gRPC-Web+Proto; charset=utf-8 | BINARY
            application/grpc-web-text                 | TEXT
            application/grpc-web-text+proto           | TEXT
            application/grpc-web-text;a=b             | TEXT
            """)
    void contentType_ofARequest(String type, GrpcWebForm form) {
        assertThat(GrpcWebForm.isGrpcWeb(type)).isTrue();
        assertThat(GrpcWebForm.ofRequest(type)).isEqualTo(form);
    }

    @ParameterizedTest
    @ValueSource(strings = {"application/grpc-web+json", "application/grpc-web-text+thrift"})
    void otherMessages_areRefused(String type) {
        assertThat(GrpcWebForm.isGrpcWeb(type)).isTrue();
        assertThatThrownBy(() -> GrpcWebForm.ofRequest(type))
                .isInstanceOf(OipException.class)
                .hasMessageContaining(
                        "application/grpc-web+proto or application/grpc-web-text+proto is expected, got '" + type);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "application/grpc",
                "application/grpc+proto",
                "application/grpc-webs",
                "application/grpc-web-texts",
                "text/plain; application/grpc-web",
                "application/json",
                ""
            })
    void others_areNotGrpcWeb(String type) {
        assertThat(GrpcWebForm.isGrpcWeb(type)).isFalse();
    }

    @Test
    void missing_isNotGrpcWeb() {
        assertThat(GrpcWebForm.isGrpcWeb(null)).isFalse();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            BINARY | */*                                    | BINARY
            TEXT   | */*                                    | TEXT
            TEXT   | application/grpc-web                   | BINARY
            BINARY | text/html, application/grpc-web-text;q=1 | TEXT
            BINARY | application/grpc-web-text+proto        | TEXT
            """)
    void response_hasTheFormThatIsAccepted(GrpcWebForm request, String accept, GrpcWebForm response) {
        assertThat(request.ofResponse(List.of(accept))).isEqualTo(response);
    }

    @Test
    void trailers_areOneFrame_withoutLineBreaksInValues() {
        Map<String, String> fields = new LinkedHashMap<>();
        fields.put("grpc-status", "5");
        fields.put("x-a", "b\r\ngrpc-status: 0");
        ByteBuf frame = GrpcWebForm.trailers(fields, ByteBufAllocator.DEFAULT);
        assertThat(frame.readUnsignedByte()).isEqualTo((short) 0x80);
        assertThat(frame.readInt()).isEqualTo(frame.readableBytes());
        assertThat(frame.toString(StandardCharsets.US_ASCII)).isEqualTo("grpc-status: 5\r\nx-a: b  grpc-status: 0\r\n");
        frame.release();
    }
}
