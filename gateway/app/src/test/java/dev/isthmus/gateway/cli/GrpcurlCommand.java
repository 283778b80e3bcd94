package dev.isthmus.gateway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.MethodDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;
import dev.isthmus.proto.ModelInferRequest;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.stub.ClientCalls;
import java.net.InetSocketAddress;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * Implements the {@code grpcurl} commands of the documentation with grpc-java, so that grpcurl need not be installed.
 *
 * @param method {@code inference.GRPCInferenceService/METHOD}
 * @param data the request as JSON
 */
record GrpcurlCommand(String method, String data) {
    private static final Set<String> WITH_VALUE = Set.of("-d");

    /** Parses the arguments, as strictly as grpcurl parses flags. */
    static GrpcurlCommand of(List<String> words) {
        Map<String, String> flags = new HashMap<>();
        int at = 1;
        while (words.get(at).startsWith("-")) {
            boolean valued = WITH_VALUE.contains(words.get(at));
            assertThat(valued || words.get(at).equals("-plaintext"))
                    .as(words.get(at))
                    .isTrue();
            flags.put(words.get(at), valued ? words.get(at + 1) : "");
            at += valued ? 2 : 1;
        }
        assertThat(flags).containsKeys("-plaintext");
        assertThat(words.subList(at, words.size())).hasSize(2).first().isEqualTo("127.0.0.1:8080");
        return new GrpcurlCommand(words.get(at + 1), flags.getOrDefault("-d", "{}"));
    }

    /** Sends the request; returns the response in protobuf's text format. */
    String run(InetSocketAddress gateway) throws Exception {
        String[] names = method.split("/", -1);
        MethodDescriptor described = ModelInferRequest.getDescriptor()
                .getFile()
                .findServiceByName(names[0].substring(names[0].lastIndexOf('.') + 1))
                .findMethodByName(names[1]);
        Message request = message(new ObjectMapper().readTree(data), described.getInputType());
        var called = io.grpc.MethodDescriptor.<Message, Message>newBuilder()
                .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
                .setFullMethodName(method)
                .setRequestMarshaller(
                        ProtoUtils.marshaller(DynamicMessage.getDefaultInstance(described.getInputType())))
                .setResponseMarshaller(
                        ProtoUtils.marshaller(DynamicMessage.getDefaultInstance(described.getOutputType())))
                .build();
        ManagedChannel channel =
                NettyChannelBuilder.forAddress(gateway).usePlaintext().build();
        try {
            return ClientCalls.blockingUnaryCall(channel, called, CallOptions.DEFAULT, request)
                    .toString();
        } finally {
            channel.shutdownNow();
            assertThat(channel.awaitTermination(10, TimeUnit.SECONDS)).isTrue();
        }
    }

    private static DynamicMessage message(JsonNode json, Descriptor type) {
        DynamicMessage.Builder message = DynamicMessage.newBuilder(type);
        json.properties().forEach(member -> {
            FieldDescriptor field = type.findFieldByName(member.getKey());
            assertThat(field).as(member.getKey()).isNotNull();
            if (field.isRepeated()) {
                member.getValue().forEach(each -> message.addRepeatedField(field, value(each, field)));
            } else {
                message.setField(field, value(member.getValue(), field));
            }
        });
        return message.build();
    }

    private static Object value(JsonNode json, FieldDescriptor field) {
        return switch (field.getJavaType()) {
            case INT -> json.intValue();
            case LONG -> json.longValue();
            case FLOAT -> json.floatValue();
            case DOUBLE -> json.doubleValue();
            case BOOLEAN -> json.booleanValue();
            case STRING -> json.textValue();
            case BYTE_STRING -> ByteString.copyFrom(Base64.getDecoder().decode(json.textValue()));
            case MESSAGE -> message(json, field.getMessageType());
            case ENUM -> throw new IllegalArgumentException("no enum is expected: " + field);
        };
    }
}
