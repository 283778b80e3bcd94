package dev.isthmus.bench;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageLite;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.proto.ModelMetadataRequest;
import dev.isthmus.proto.ModelMetadataResponse;
import dev.isthmus.proto.ModelReadyResponse;
import dev.isthmus.proto.RepositoryIndexResponse;
import dev.isthmus.proto.ServerLiveResponse;
import dev.isthmus.proto.ServerMetadataResponse;
import dev.isthmus.proto.ServerReadyResponse;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import io.netty.channel.EventLoopGroup;
import java.net.InetSocketAddress;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** The unary methods of a V2 server over gRPC: those of health and of metadata, and what a bench adds. */
public final class StubMethods {
    private final Map<String, Handler> handlers = new LinkedHashMap<>();

    /** Takes a call with its message, and answers it at once or later. */
    public interface Handler {
        void take(ServerCall<byte[], byte[]> call, byte[] message) throws InvalidProtocolBufferException;
    }

    /** Makes the response to a message. */
    public interface Responder {
        MessageLite response(byte[] message) throws InvalidProtocolBufferException;
    }

    /** A server that is ready, with any model. */
    public StubMethods(String name, String... extensions) {
        MessageLite server = ServerMetadataResponse.newBuilder()
                .setName(name)
                .setVersion("1")
                .addAllExtensions(List.of(extensions))
                .build();
        MessageLite live = ServerLiveResponse.newBuilder().setLive(true).build();
        MessageLite ready = ServerReadyResponse.newBuilder().setReady(true).build();
        MessageLite modelReady = ModelReadyResponse.newBuilder().setReady(true).build();
        respond("ServerLive", message -> live);
        respond("ServerReady", message -> ready);
        respond("ModelReady", message -> modelReady);
        respond("ServerMetadata", message -> server);
    }

    /** Adds the index of these models, and the metadata of any: x and y of the shape [-1,4]. */
    public StubMethods models(List<String> names) {
        RepositoryIndexResponse.Builder index = RepositoryIndexResponse.newBuilder();
        names.forEach(
                name -> index.addModelsBuilder().setName(name).setVersion("1").setState("READY"));
        MessageLite response = index.build();
        return respond("RepositoryIndex", message -> response).respond("ModelMetadata", StubMethods::metadata);
    }

    private static MessageLite metadata(byte[] message) throws InvalidProtocolBufferException {
        ModelMetadataResponse.TensorMetadata x = ModelMetadataResponse.TensorMetadata.newBuilder()
                .setName("x")
                .setDatatype("FP32")
                .addAllShape(List.of(-1L, 4L))
                .build();
        return ModelMetadataResponse.newBuilder()
                .setName(ModelMetadataRequest.parseFrom(message).getName())
                .addVersions("1")
                .setPlatform("stub")
                .addInputs(x)
                .addOutputs(x.toBuilder().setName("y"))
                .build();
    }

    public StubMethods respond(String method, Responder responder) {
        return handle(method, (call, message) -> send(call, responder.response(message)));
    }

    public StubMethods handle(String method, Handler handler) {
        handlers.put(method, handler);
        return this;
    }

    /** @param called is told the method of each message */
    public ServerServiceDefinition.Builder service(Consumer<String> called) {
        ServerServiceDefinition.Builder service = ServerServiceDefinition.builder(RawMethods.SERVICE);
        handlers.forEach((method, handler) -> service.addMethod(RawMethods.of(method), (call, headers) -> {
            call.request(2);
            return new ServerCall.Listener<>() {
                @Override
                public void onMessage(byte[] message) {
                    called.accept(method);
                    StubMethods.take(call, message, handler);
                }
            };
        }));
        return service;
    }

    /** Hands a message to a handler; one that is malformed ends the call with INVALID_ARGUMENT. */
    public static void take(ServerCall<byte[], byte[]> call, byte[] message, Handler handler) {
        try {
            handler.take(call, message);
        } catch (InvalidProtocolBufferException e) {
            close(call, Status.INVALID_ARGUMENT.withDescription(e.getMessage()));
        }
    }

    /** Ends a call with a response, unless it is cancelled. */
    public static void send(ServerCall<byte[], byte[]> call, MessageLite response) {
        if (!call.isCancelled()) {
            call.sendHeaders(new Metadata());
            call.sendMessage(response.toByteArray());
            close(call, Status.OK);
        }
    }

    /** Ends a call, unless it is cancelled. */
    public static void close(ServerCall<byte[], byte[]> call, Status status) {
        if (!call.isCancelled()) {
            call.close(status, new Metadata());
        }
    }

    /** A server at this address whose calls run on an event loop of the group. */
    public static NettyServerBuilder server(EventLoopGroup loop, InetSocketAddress address) {
        return NettyServerBuilder.forAddress(address)
                .bossEventLoopGroup(loop)
                .workerEventLoopGroup(loop)
                .channelType(Transport.best().serverChannel())
                .directExecutor();
    }
}
