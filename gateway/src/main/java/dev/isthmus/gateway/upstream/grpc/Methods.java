package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.gateway.call.Extension;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.EnumMap;
import java.util.Map;

/** The methods of {@code inference.GRPCInferenceService}, as bytes. */
record Methods(
        MethodDescriptor<RequestStream, ByteBuf> modelInfer,
        MethodDescriptor<RequestStream, ByteBuf> modelStreamInfer,
        MethodDescriptor<RequestStream, ByteBuf> serverReady,
        MethodDescriptor<RequestStream, ByteBuf> serverMetadata,
        MethodDescriptor<RequestStream, ByteBuf> modelReady,
        MethodDescriptor<RequestStream, ByteBuf> modelMetadata,
        Map<Extension, MethodDescriptor<RequestStream, ByteBuf>> extensions) {

    private static final String SERVICE = "inference.GRPCInferenceService";

    static Methods with(ByteBufAllocator allocator) {
        Map<Extension, MethodDescriptor<RequestStream, ByteBuf>> extensions = new EnumMap<>(Extension.class);
        for (Extension extension : Extension.values()) {
            extensions.put(extension, method(MethodType.UNARY, extension.grpcMethod(), allocator));
        }
        return new Methods(
                method(MethodType.UNARY, "ModelInfer", allocator),
                method(MethodType.BIDI_STREAMING, "ModelStreamInfer", allocator),
                method(MethodType.UNARY, "ServerReady", allocator),
                method(MethodType.UNARY, "ServerMetadata", allocator),
                method(MethodType.UNARY, "ModelReady", allocator),
                method(MethodType.UNARY, "ModelMetadata", allocator),
                extensions);
    }

    MethodDescriptor<RequestStream, ByteBuf> extension(Extension extension) {
        MethodDescriptor<RequestStream, ByteBuf> method = extensions.get(extension);
        if (method == null) {
            throw new IllegalArgumentException(extension.toString());
        }
        return method;
    }

    private static MethodDescriptor<RequestStream, ByteBuf> method(
            MethodType type, String name, ByteBufAllocator allocator) {
        return MethodDescriptor.<RequestStream, ByteBuf>newBuilder()
                .setType(type)
                .setFullMethodName(MethodDescriptor.generateFullMethodName(SERVICE, name))
                .setRequestMarshaller(new ByteMarshallers.Outbound())
                .setResponseMarshaller(new ByteMarshallers.Inbound(allocator))
                .build();
    }
}
