package dev.isthmus.gateway.flow;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageLite;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import dev.isthmus.proto.ModelStreamInferResponse;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Small inferences: INPUT0 is one number, and so is OUTPUT0. */
final class Infer {
    private Infer() {}

    /** A request as JSON. */
    static String json(String id, int value) {
        return "{\"id\":\"" + id + "\",\"inputs\":[{\"name\":\"INPUT0\",\"datatype\":\"INT32\",\"shape\":[1],\"data\":["
                + value + "]}]}";
    }

    /** A response as JSON, as the gateway writes it. */
    static String responseJson(String model, String id, int value) {
        return "{\"id\":\"" + id + "\",\"model_name\":\"" + model
                + "\",\"outputs\":[{\"name\":\"OUTPUT0\",\"datatype\":\"INT32\",\"shape\":[1],\"data\":[" + value
                + "]}]}";
    }

    static ModelInferRequest request(String model, String id, int value) {
        return ModelInferRequest.newBuilder()
                .setModelName(model)
                .setId(id)
                .addInputs(ModelInferRequest.InferInputTensor.newBuilder()
                        .setName("INPUT0")
                        .setDatatype("INT32")
                        .addShape(1))
                .addRawInputContents(number(value))
                .build();
    }

    static ModelInferRequest request(byte[] message) {
        try {
            return ModelInferRequest.parseFrom(message);
        } catch (InvalidProtocolBufferException e) {
            throw new UncheckedIOException(e);
        }
    }

    static ModelInferResponse response(byte[] message) {
        try {
            return ModelInferResponse.parseFrom(message);
        } catch (InvalidProtocolBufferException e) {
            throw new UncheckedIOException(e);
        }
    }

    static ModelStreamInferResponse envelope(byte[] message) {
        try {
            return ModelStreamInferResponse.parseFrom(message);
        } catch (InvalidProtocolBufferException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A response to the request, with its model and id, and this number. */
    static ModelInferResponse responseTo(ModelInferRequest request, int value) {
        return responseTo(request, number(value));
    }

    static ModelInferResponse responseTo(ModelInferRequest request, ByteString content) {
        return ModelInferResponse.newBuilder()
                .setModelName(request.getModelName())
                .setId(request.getId())
                .addOutputs(ModelInferResponse.InferOutputTensor.newBuilder()
                        .setName("OUTPUT0")
                        .setDatatype("INT32")
                        .addShape(content.size() / Integer.BYTES))
                .addRawOutputContents(content)
                .build();
    }

    static byte[] enveloped(ModelInferResponse response) {
        return ModelStreamInferResponse.newBuilder()
                .setInferResponse(response)
                .build()
                .toByteArray();
    }

    /** A message with gRPC's prefix. */
    static byte[] framed(MessageLite message) {
        byte[] bytes = message.toByteArray();
        return ByteBuffer.allocate(bytes.length + 5)
                .put((byte) 0)
                .putInt(bytes.length)
                .put(bytes)
                .array();
    }

    /** Triton's form of an error within a stream. */
    static byte[] error(String text, String id) {
        return ModelStreamInferResponse.newBuilder()
                .setErrorMessage(text)
                .setInferResponse(ModelInferResponse.newBuilder().setId(id))
                .build()
                .toByteArray();
    }

    static ByteString number(int value) {
        return ByteString.copyFrom(ByteBuffer.allocate(Integer.BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(value)
                .flip());
    }

    static int number(ByteString content) {
        return content.asReadOnlyByteBuffer().order(ByteOrder.LITTLE_ENDIAN).getInt();
    }

    /** The number in a request. */
    static int value(ModelInferRequest request) {
        return number(request.getRawInputContents(0));
    }

    /** The number in a response. */
    static int value(ModelInferResponse response) {
        return number(response.getRawOutputContents(0));
    }
}
