package dev.isthmus.gateway.payloadlog;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.call.ClientProtocol;
import dev.isthmus.gateway.payloadlog.PayloadEvent.CallFacts;
import dev.isthmus.gateway.payloadlog.PayloadEvent.EventPayload;
import dev.isthmus.gateway.payloadlog.PayloadEvent.MissingData;
import dev.isthmus.gateway.payloadlog.PayloadEvent.OpaqueBodyKind;
import dev.isthmus.gateway.payloadlog.PayloadEvent.PayloadKind;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.PayloadLogConfig;
import dev.isthmus.gateway.settings.PayloadLogConfig.OmittedPayload;
import dev.isthmus.gateway.settings.PayloadLogConfig.PayloadForm;
import dev.isthmus.gateway.settings.TestConfigs;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import dev.isthmus.testing.Samples;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.Dialect;
import dev.isthmus.transcoder.protobuf.ProtobufWriter;
import dev.isthmus.transcoder.rest.RestBody;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;

class PayloadEncoderTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final ModelRef MODEL = new ModelRef("m", "3");
    private static final String SAMPLES = "dev.isthmus.testing.Samples#ALL";

    private static PayloadEncoder encoder(Map<String, Object> changes) {
        return new PayloadEncoder(
                TestConfigs.with(DefaultValues.of(PayloadLogConfig.class), changes),
                new PayloadMeters(new SimpleMeterRegistry()));
    }

    private static PayloadEvent event(PayloadKind kind, @Nullable ErrorCode code, EventPayload payload) {
        return new PayloadEvent(
                new CallFacts(
                        ClientProtocol.GRPC, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "", false),
                kind,
                MODEL,
                "id-1",
                1_700_000_000_123L,
                code,
                payload,
                17,
                0);
    }

    private static CloudEvent encoded(Map<String, Object> changes, PayloadKind kind, InferMessage message) {
        return encoder(changes).encode(event(kind, null, new EventPayload.Message(message)));
    }

    private static Tensor tensor(String name, Samples sample) {
        return new Tensor(name, sample.type(), Shape.of(2, 3), Map.of(), Unpooled.wrappedBuffer(sample.raw()));
    }

    private static InferMessage protobufRequest(Samples sample) {
        InferRequest request = new InferRequest(MODEL, "i", Map.of(), List.of(tensor("IN", sample)), List.of());
        return new InferMessage.ProtobufMessage(
                ProtobufWriter.request(UnpooledByteBufAllocator.DEFAULT, request, Dialect.GENERIC));
    }

    private static InferMessage protobufResponse(Samples sample) {
        InferResponse response = new InferResponse(MODEL, "i", Map.of(), List.of(tensor("OUT", sample)));
        return new InferMessage.ProtobufMessage(
                ProtobufWriter.response(UnpooledByteBufAllocator.DEFAULT, response, false));
    }

    private static InferMessage rest(String json) {
        return new InferMessage.RestMessage(
                new RestBody(Unpooled.copiedBuffer(json, StandardCharsets.UTF_8), RestBody.ALL_JSON));
    }

    private static byte[] bytes(CloudEvent event) {
        return Arrays.copyOf(event.data(), event.length());
    }

    private static String text(CloudEvent event) {
        return new String(bytes(event), StandardCharsets.UTF_8);
    }

    private static String description(String name, Samples sample) {
        return "{\"name\":\"" + name + "\",\"datatype\":\"" + sample.type() + "\",\"shape\":[2,3]";
    }

    @Test
    void attributes_areKServes() {
        CloudEvent event = encoder(Map.of("namespace", "ns", "source", "/a"))
                .encode(event(PayloadKind.REQUEST, null, new EventPayload.Missing(MissingData.SIZE)));
        assertThat(event.attributes())
                .containsExactly(
                        Map.entry("specversion", "1.0"),
                        Map.entry("id", "id-1"),
                        Map.entry("source", "/a"),
                        Map.entry("type", "org.kubeflow.serving.inference.request"),
                        Map.entry("time", "2023-11-14T22:13:20.123Z"),
                        Map.entry("inferenceservicename", "m"),
                        Map.entry("modelversion", "3"),
                        Map.entry("namespace", "ns"),
                        Map.entry("component", "predictor"),
                        Map.entry("endpoint", "default"),
                        Map.entry("protocol", "grpc"),
                        Map.entry("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
                        Map.entry("payloadsize", "17"),
                        Map.entry("dataomitted", "size"));
        assertThat(event.hasData()).isFalse();
        // CloudEvents 1.0, "Naming Conventions": lower-case letters and digits, at most 20.
        assertThat(event.attributes().keySet()).allMatch(name -> name.matches("[a-z0-9]{1,20}"));
    }

    @ParameterizedTest
    @FieldSource(SAMPLES)
    void requestOverGrpc_isJson(Samples sample) {
        CloudEvent event = encoded(Map.of(), PayloadKind.REQUEST, protobufRequest(sample));
        assertThat(event.contentType()).isEqualTo("application/json");
        assertThat(text(event))
                .isEqualTo("{\"id\":\"i\",\"inputs\":[" + description("IN", sample) + ",\"data\":[" + sample.json()
                        + "]}]}");
    }

    @ParameterizedTest
    @FieldSource(SAMPLES)
    void responseOverGrpc_isJson(Samples sample) {
        CloudEvent event = encoded(Map.of(), PayloadKind.RESPONSE, protobufResponse(sample));
        assertThat(event.attributes()).containsEntry("code", "OK");
        assertThat(text(event))
                .isEqualTo("{\"id\":\"i\",\"model_name\":\"m\",\"model_version\":\"3\",\"outputs\":["
                        + description("OUT", sample) + ",\"data\":[" + sample.json() + "]}]}");
    }

    @ParameterizedTest
    @FieldSource(SAMPLES)
    void requestOverRest_isBinary(Samples sample) {
        CloudEvent event = encoded(
                Map.of("form", PayloadForm.BINARY),
                PayloadKind.REQUEST,
                rest("{\"inputs\":[" + description("IN", sample) + ",\"data\":[" + sample.json() + "]}]}"));
        String head = "{\"inputs\":[" + description("IN", sample) + ",\"parameters\":{\"binary_data_size\":"
                + sample.raw().length + "}}]}";
        assertThat(event.contentType()).isEqualTo("application/octet-stream");
        assertThat(event.attributes()).containsEntry("jsonlength", Integer.toString(head.length()));
        assertThat(text(event)).startsWith(head);
        assertThat(Arrays.copyOfRange(event.data(), head.length(), event.length()))
                .isEqualTo(sample.raw());
    }

    @ParameterizedTest
    @FieldSource(SAMPLES)
    void line_isOneObject_whoseDataIsTheBody(Samples sample) throws IOException {
        CloudEvent event = encoded(Map.of(), PayloadKind.RESPONSE, protobufResponse(sample));
        String line = line(event);
        assertThat(line).endsWith("\n");
        assertThat(line.strip()).doesNotContain("\n");
        assertThat(JSON.readTree(line).path("data")).isEqualTo(JSON.readTree(bytes(event)));
        CloudEvent binary = encoded(Map.of("form", PayloadForm.BINARY), PayloadKind.RESPONSE, protobufResponse(sample));
        assertThat(JSON.readTree(line(binary)).path("data_base64").binaryValue())
                .isEqualTo(bytes(binary));
    }

    private static String line(CloudEvent event) {
        return FileSink.line(event).toString(StandardCharsets.UTF_8);
    }

    @Test
    void textOfClients_staysInItsPlace() throws IOException {
        PayloadEvent base =
                event(PayloadKind.RESPONSE, ErrorCode.NOT_FOUND, new EventPayload.FailureText("a\"}\n{", "x\n"));
        PayloadEvent event = new PayloadEvent(
                base.call(),
                base.kind(),
                new ModelRef("\"},{\n\u20ac", ""),
                "\r\n\"id",
                0,
                base.code(),
                base.payload(),
                0,
                0);
        String line = line(encoder(Map.of()).encode(event));
        assertThat(line.indexOf('\n')).isEqualTo(line.length() - 1);
        JsonNode node = JSON.readTree(line);
        assertThat(node.path("inferenceservicename").asText()).isEqualTo("\"},{\n\u20ac");
        assertThat(node.path("id").asText()).isEqualTo("\r\n\"id");
        assertThat(node.path("code").asText()).isEqualTo("NOT_FOUND");
        assertThat(node.path("data").toString()).isEqualTo("{\"error\":\"a\\\"}\\n{\",\"id\":\"x\\n\"}");
        assertThat(HttpSink.encoded("\"},{\r\n\u20ac %~")).isEqualTo("%22},{%0D%0A%E2%82%AC%20%25~");
    }

    @Test
    void nonFiniteNumbers_areTextInJson_andBitsInBinary() {
        String body = "{\"inputs\":[{\"name\":\"IN\",\"datatype\":\"FP32\",\"shape\":[3],"
                + "\"data\":[NaN,Infinity,-Infinity]}]}";
        assertThat(text(encoded(Map.of(), PayloadKind.REQUEST, rest(body))))
                .endsWith("\"data\":[\"NaN\",\"Infinity\",\"-Infinity\"]}]}");
    }

    @Test
    void bytesThatAreNotText_areBase64() {
        Tensor tensor = new Tensor(
                "OUT", DataType.BYTES, Shape.of(1), Map.of(), Unpooled.wrappedBuffer(new byte[] {2, 0, 0, 0, -1, 0}));
        InferResponse response = new InferResponse(MODEL, "", Map.of(), List.of(tensor));
        CloudEvent event = encoded(
                Map.of(),
                PayloadKind.RESPONSE,
                new InferMessage.ProtobufMessage(
                        ProtobufWriter.response(UnpooledByteBufAllocator.DEFAULT, response, false)));
        assertThat(text(event)).endsWith("\"parameters\":{\"content_type\":\"base64\"},\"data\":[\"/wA=\"]}]}");
    }

    @Test
    void bodyThatIsNotValid_isLeftOut() {
        for (String body : List.of("", "{", "{\"inputs\":[{}]}", "[1]")) {
            CloudEvent event = encoded(Map.of(), PayloadKind.REQUEST, rest(body));
            assertThat(event.attributes()).as(body).containsEntry("dataomitted", "unreadable");
            assertThat(event.hasData()).isFalse();
        }
        CloudEvent response = encoded(
                Map.of(),
                PayloadKind.RESPONSE,
                new InferMessage.ProtobufMessage(Unpooled.wrappedBuffer(new byte[] {10, 127})));
        assertThat(response.attributes()).containsEntry("dataomitted", "unreadable");
    }

    private static PayloadEvent opaque(PayloadKind kind, OpaqueBodyKind body, String data) {
        return event(
                kind, null, new EventPayload.OpaqueBody(Unpooled.copiedBuffer(data, StandardCharsets.UTF_8), body));
    }

    @Test
    void rawRequest_isBinaryData_unlessTensorsAreLeftOut() throws IOException {
        CloudEvent event = encoder(Map.of()).encode(opaque(PayloadKind.REQUEST, OpaqueBodyKind.RAW, "raw"));
        assertThat(event.contentType()).isEqualTo("application/octet-stream");
        assertThat(event.attributes()).containsEntry("jsonlength", "0");
        assertThat(text(event)).isEqualTo("raw");
        assertThat(JSON.readTree(line(event)).path("data_base64").asText()).isEqualTo("cmF3");
        CloudEvent omitted = encoder(Map.of("omit", new OmittedPayload(Set.of("x"), Set.of())))
                .encode(opaque(PayloadKind.REQUEST, OpaqueBodyKind.RAW, "raw"));
        assertThat(omitted.attributes()).containsEntry("dataomitted", "raw");
        assertThat(omitted.hasData()).isFalse();
    }

    @Test
    void serverSentEvents_areText() throws IOException {
        String events = "data: {\"text_output\":\"\u20ac\"}\r\n\r\n";
        CloudEvent event = encoder(Map.of()).encode(opaque(PayloadKind.RESPONSE, OpaqueBodyKind.EVENTS, events));
        assertThat(event.contentType()).isEqualTo("text/event-stream");
        assertThat(text(event)).isEqualTo(events);
        assertThat(JSON.readTree(line(event)).path("data").asText()).isEqualTo(events);
    }

    @Test
    void generatedDocument_thatIsNoObject_isLeftOut() {
        CloudEvent event = encoder(Map.of()).encode(opaque(PayloadKind.REQUEST, OpaqueBodyKind.JSON, "[1]"));
        assertThat(event.attributes()).containsEntry("dataomitted", "unreadable");
    }

    @Test
    void omittedNames_areGone_alsoInNestedParameters() {
        OmittedPayload omit = new OmittedPayload(Set.of("secret_in", "secret_out"), Set.of("token"));
        String body = "{\"id\":\"i\",\"parameters\":{\"token\":\"t\",\"a\":1,"
                + "\"o\":{\"token\":1,\"b\":[{\"token\":{}, \"c\":\n1.10}]}},"
                + "\"inputs\":[{\"name\":\"IN\",\"datatype\":\"INT8\",\"shape\":[1],\"parameters\":{\"token\":5,\"k\":true},"
                + "\"data\":[1]},{\"name\":\"secret_in\",\"datatype\":\"INT8\",\"shape\":[1],\"data\":[2]}],"
                + "\"outputs\":[{\"name\":\"OUT\",\"parameters\":{\"token\":\"x\"}},{\"name\":\"secret_out\"}]}";
        CloudEvent event = encoded(Map.of("omit", omit), PayloadKind.REQUEST, rest(body));
        assertThat(text(event))
                .isEqualTo("{\"id\":\"i\",\"parameters\":{\"a\":1,\"o\":{\"b\":[{\"c\":1.10}]}},"
                        + "\"inputs\":[{\"name\":\"IN\",\"datatype\":\"INT8\",\"shape\":[1],\"parameters\":{\"k\":true},"
                        + "\"data\":[1]}],\"outputs\":[{\"name\":\"OUT\"}]}");
        assertThat(event.attributes()).containsEntry("tensorsomitted", "true");
        Tensor shown = new Tensor(
                "OUT",
                DataType.INT8,
                Shape.of(1),
                Map.of("token", new Parameter.Text("x")),
                Unpooled.wrappedBuffer(new byte[1]));
        Tensor hidden =
                new Tensor("secret_out", DataType.INT8, Shape.of(1), Map.of(), Unpooled.wrappedBuffer(new byte[1]));
        InferResponse response =
                new InferResponse(MODEL, "", Map.of("token", new Parameter.Int64(1)), List.of(shown, hidden));
        CloudEvent out = encoded(
                Map.of("omit", omit),
                PayloadKind.RESPONSE,
                new InferMessage.ProtobufMessage(
                        ProtobufWriter.response(UnpooledByteBufAllocator.DEFAULT, response, false)));
        assertThat(text(out))
                .isEqualTo("{\"model_name\":\"m\",\"model_version\":\"3\",\"outputs\":[{\"name\":\"OUT\","
                        + "\"datatype\":\"INT8\",\"shape\":[1],\"data\":[0]}]}");
    }
}
