package dev.isthmus.bench.local;

import com.google.protobuf.ByteString;
import dev.isthmus.oip.DataType;
import dev.isthmus.proto.ModelInferRequest;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpVersion;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The protocol and encoding of a request over the network. */
enum RequestEncoding {
    JSON,
    BINARY,
    GRPC;

    static final String HEAD_LENGTH = "Inference-Header-Content-Length";

    String text() {
        return this == GRPC ? "gRPC" : "REST " + name().toLowerCase(Locale.ROOT);
    }

    /** The message of a gRPC request. */
    static byte[] message(Case testCase) {
        ModelInferRequest.Builder request = ModelInferRequest.newBuilder().setModelName(testCase.model());
        for (Case.Input input : testCase.inputs()) {
            request.addInputsBuilder()
                    .setName(input.name())
                    .setDatatype(input.type().name())
                    .addAllShape(input.shape().toList());
            request.addRawInputContents(ByteString.copyFrom(input.raw()));
        }
        return request.build().toByteArray();
    }

    /** A full REST request. The caller owns it. */
    FullHttpRequest request(Case testCase) {
        List<String> inputs = new ArrayList<>();
        ByteBuf raw = Unpooled.buffer();
        for (Case.Input input : testCase.inputs()) {
            inputs.add("{\"name\":\"" + input.name() + "\",\"datatype\":\"" + input.type() + "\",\"shape\":"
                    + input.shape() + "," + data(input) + "}");
            raw.writeBytes(this == BINARY ? input.raw() : new byte[0]);
        }
        String parameters = this == BINARY ? "\"parameters\":{\"binary_data_output\":true}," : "";
        byte[] head = ("{" + parameters + "\"inputs\":[" + String.join(",", inputs) + "]}")
                .getBytes(StandardCharsets.US_ASCII);
        ByteBuf body = Unpooled.wrappedBuffer(Unpooled.wrappedBuffer(head), raw);
        FullHttpRequest request = new DefaultFullHttpRequest(
                HttpVersion.HTTP_1_1, HttpMethod.POST, "/v2/models/" + testCase.model() + "/infer", body);
        request.headers()
                .set(HttpHeaderNames.HOST, "127.0.0.1")
                .set(HttpHeaderNames.CONTENT_LENGTH, body.readableBytes())
                .set(HttpHeaderNames.CONTENT_TYPE, this == BINARY ? "application/octet-stream" : "application/json");
        if (this == BINARY) {
            request.headers().set(HEAD_LENGTH, head.length);
        }
        return request;
    }

    private String data(Case.Input input) {
        if (this == BINARY) {
            return "\"parameters\":{\"binary_data_size\":" + input.raw().length + "}";
        }
        if (input.type() != DataType.FP32) {
            throw new IllegalArgumentException("FP32 is expected, got " + input.type());
        }
        ByteBuf raw = Unpooled.wrappedBuffer(input.raw());
        List<String> numbers = new ArrayList<>();
        while (raw.isReadable()) {
            numbers.add(Float.toString(raw.readFloatLE()));
        }
        return "\"data\":[" + String.join(",", numbers) + "]";
    }
}
