package dev.isthmus.gateway.upstream.grpc;

import io.grpc.MethodDescriptor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;

/** The unary methods of {@code inference.GRPCInferenceService}, as bytes. */
record Methods(
        MethodDescriptor<RequestStream, ByteBuf> modelInfer,
        MethodDescriptor<RequestStream, ByteBuf> serverReady,
        MethodDescriptor<RequestStream, ByteBuf> serverMetadata,
        MethodDescriptor<RequestStream, ByteBuf> modelReady,
        MethodDescriptor<RequestStream, ByteBuf> modelMetadata) {

    private static final String SERVICE = "inference.GRPCInferenceService";

    static Methods with(ByteBufAllocator allocator) {
        return new Methods(
                method("ModelInfer", allocator),
                method("ServerReady", allocator),
                method("ServerMetadata", allocator),
                method("ModelReady", allocator),
                method("ModelMetadata", allocator));
    }

    private static MethodDescriptor<RequestStream, ByteBuf> method(String name, ByteBufAllocator allocator) {
        return MethodDescriptor.<RequestStream, ByteBuf>newBuilder()
                .setType(MethodDescriptor.MethodType.UNARY)
                .setFullMethodName(MethodDescriptor.generateFullMethodName(SERVICE, name))
                .setRequestMarshaller(new ByteMarshallers.Outbound())
                .setResponseMarshaller(new ByteMarshallers.Inbound(allocator))
                .build();
    }
}
