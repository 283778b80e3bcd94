package dev.isthmus.bench;

import com.google.protobuf.ByteString;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import io.grpc.MethodDescriptor;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.List;

/** The unary methods of the protocol's gRPC service, with messages as bytes, and inferences of one tensor. */
public final class RawMethods {
    public static final String SERVICE = "inference.GRPCInferenceService";

    private RawMethods() {}

    public static MethodDescriptor<byte[], byte[]> of(String method) {
        return MethodDescriptor.newBuilder(new Bytes(), new Bytes())
                .setType(MethodDescriptor.MethodType.UNARY)
                .setFullMethodName(MethodDescriptor.generateFullMethodName(SERVICE, method))
                .build();
    }

    /** A request with one input, x. */
    public static byte[] request(String model, String id, String dataType, byte[] raw, Long... shape) {
        return ModelInferRequest.newBuilder()
                .setModelName(model)
                .setId(id)
                .addInputs(ModelInferRequest.InferInputTensor.newBuilder()
                        .setName("x")
                        .setDatatype(dataType)
                        .addAllShape(List.of(shape)))
                .addRawInputContents(ByteString.copyFrom(raw))
                .build()
                .toByteArray();
    }

    /** A response with one output, y of FP32. */
    public static ModelInferResponse response(String model, String id, byte[] raw, Long... shape) {
        return ModelInferResponse.newBuilder()
                .setModelName(model)
                .setModelVersion("1")
                .setId(id)
                .addOutputs(ModelInferResponse.InferOutputTensor.newBuilder()
                        .setName("y")
                        .setDatatype("FP32")
                        .addAllShape(List.of(shape)))
                .addRawOutputContents(ByteString.copyFrom(raw))
                .build();
    }

    private static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {
        @Override
        public InputStream stream(byte[] value) {
            return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
            try {
                return stream.readAllBytes();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
