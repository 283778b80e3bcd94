package dev.isthmus.transcoder;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.Shape;
import dev.isthmus.proto.InferParameter;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Reference parsers: they must accept whatever ours accept, and for protobuf read the same message. */
final class ReferenceParsers {
    private static final JsonMapper JACKSON = JsonMapper.builder()
            .enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .build();

    private ReferenceParsers() {}

    /** Requires that Jackson accepts the JSON. */
    static void json(Wires.Encoded taken) {
        int length = taken.jsonLength() == Wires.ALL_JSON ? taken.bytes().length : (int) taken.jsonLength();
        try (JsonParser parser = JACKSON.createParser(taken.bytes(), 0, length)) {
            while (parser.nextToken() != null) {
                parser.getText();
            }
        } catch (IOException e) {
            throw new UncheckedIOException("taken by us, but not by Jackson", e);
        }
    }

    /** Requires that protobuf-java reads the same message. */
    static void protobuf(Wires.Encoded encoded, Message read) {
        try {
            assertThat(read).as("ours against protobuf-java's").isEqualTo(parsed(encoded.bytes(), read));
        } catch (InvalidProtocolBufferException e) {
            throw new UncheckedIOException("taken by us, but not by protobuf-java", e);
        }
    }

    private static Message parsed(byte[] bytes, Message read) throws InvalidProtocolBufferException {
        List<Message.Value> tensors = new ArrayList<>();
        if (!read.request()) {
            ModelInferResponse answer = ModelInferResponse.parseFrom(bytes);
            for (ModelInferResponse.InferOutputTensor tensor : answer.getOutputsList()) {
                tensors.add(value(
                        tensor.getName(),
                        tensor.getDatatype(),
                        tensor.getShapeList(),
                        tensor.getParametersMap(),
                        raw(answer.getRawOutputContentsList(), read, tensors.size())));
            }
            return new Message(
                    false,
                    new ModelRef(answer.getModelName(), answer.getModelVersion()),
                    answer.getId(),
                    parameters(answer.getParametersMap()),
                    tensors,
                    List.of());
        }
        ModelInferRequest request = ModelInferRequest.parseFrom(bytes);
        for (ModelInferRequest.InferInputTensor tensor : request.getInputsList()) {
            tensors.add(value(
                    tensor.getName(),
                    tensor.getDatatype(),
                    tensor.getShapeList(),
                    tensor.getParametersMap(),
                    raw(request.getRawInputContentsList(), read, tensors.size())));
        }
        return new Message(
                true,
                new ModelRef(request.getModelName(), request.getModelVersion()),
                request.getId(),
                parameters(request.getParametersMap()),
                tensors,
                request.getOutputsList().stream()
                        .map(output -> new Message.Wanted(output.getName(), parameters(output.getParametersMap())))
                        .toList());
    }

    private static Message.Value value(
            String name, String type, List<Long> shape, Map<String, InferParameter> parameters, ByteBuffer raw) {
        List<Map.Entry<String, Parameter>> kept = parameters(parameters).stream()
                .filter(parameter -> !parameter.getKey().equals("binary_data_size"))
                .toList();
        long[] extents = shape.stream().mapToLong(Long::longValue).toArray();
        return new Message.Value(name, DataType.valueOf(type), Shape.of(extents), kept, raw);
    }

    /** Typed contents are not compared: protobuf does not define their raw form. */
    private static ByteBuffer raw(List<ByteString> raws, Message read, int tensor) {
        return raws.isEmpty()
                ? read.tensors().get(tensor).raw()
                : ByteBuffer.wrap(raws.get(tensor).toByteArray()).order(ByteOrder.LITTLE_ENDIAN);
    }

    private static List<Map.Entry<String, Parameter>> parameters(Map<String, InferParameter> parameters) {
        return parameters.entrySet().stream()
                .map(entry -> Map.entry(entry.getKey(), parameter(entry.getValue())))
                .toList();
    }

    private static Parameter parameter(InferParameter parameter) {
        return switch (parameter.getParameterChoiceCase()) {
            case BOOL_PARAM -> new Parameter.Bool(parameter.getBoolParam());
            case INT64_PARAM -> new Parameter.Int64(parameter.getInt64Param());
            case STRING_PARAM -> new Parameter.Text(parameter.getStringParam());
            case DOUBLE_PARAM -> new Parameter.Float64(parameter.getDoubleParam());
            case UINT64_PARAM -> new Parameter.Uint64(parameter.getUint64Param());
            case PARAMETERCHOICE_NOT_SET -> new Parameter.Text("no value");
        };
    }
}
