package dev.isthmus.bench.sizing;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageLite;
import dev.isthmus.bench.RawMethods;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.proto.ModelInferResponse;
import dev.isthmus.proto.ModelMetadataRequest;
import dev.isthmus.proto.ModelMetadataResponse;
import dev.isthmus.proto.ModelReadyResponse;
import dev.isthmus.proto.RepositoryIndexResponse;
import dev.isthmus.proto.ServerLiveResponse;
import dev.isthmus.proto.ServerMetadataResponse;
import dev.isthmus.proto.ServerReadyResponse;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;

/** The servers of a fleet, in one process and on one event loop. They answer at once, and count requests by method. */
final class FleetStub implements AutoCloseable {
    /** Prefix of the line with the ports. */
    static final String LISTENING = "listening ";

    /** A line for standard input; the answer begins with it and has the number of requests of each method so far. */
    static final String COUNTS = "counts";

    private static final MessageLite INFERRED = ModelInferResponse.newBuilder()
            .setModelName("m")
            .setModelVersion("1")
            .addOutputs(ModelInferResponse.InferOutputTensor.newBuilder()
                    .setName("y")
                    .setDatatype("FP32")
                    .addShape(1)
                    .addShape(4))
            .addRawOutputContents(ByteString.copyFrom(new byte[16]))
            .build();

    private final EventLoopGroup loop =
            new MultiThreadIoEventLoopGroup(1, Transport.best().ioHandlerFactory());
    private final Map<String, LongAdder> requests = new ConcurrentHashMap<>();
    private final List<Server> servers = new ArrayList<>();

    FleetStub(FleetShape shape) throws IOException {
        for (int server = 0; server < shape.servers(); server++) {
            servers.add(NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                    .bossEventLoopGroup(loop)
                    .workerEventLoopGroup(loop)
                    .channelType(Transport.best().serverChannel())
                    .directExecutor()
                    .addService(definition(index(shape.on(server))))
                    .build()
                    .start());
        }
    }

    /**
     * Runs until the end of standard input, and answers lines {@link #COUNTS}.
     *
     * @param arguments models, servers, upstreams
     */
    public static void main(String[] arguments) throws IOException {
        FleetShape shape = new FleetShape(
                Integer.parseInt(arguments[0]), Integer.parseInt(arguments[1]), Integer.parseInt(arguments[2]));
        try (FleetStub stub = new FleetStub(shape);
                BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            System.out.println(LISTENING
                    + stub.servers.stream()
                            .map(server -> Integer.toString(server.getPort()))
                            .collect(Collectors.joining(" ")));
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                System.out.println(COUNTS + " " + stub.counts());
            }
        }
    }

    /** The number of requests of each method: {@code ModelReady=3 ServerReady=1}. */
    private String counts() {
        return new TreeMap<>(requests)
                .entrySet().stream()
                        .map(method -> method.getKey() + "=" + method.getValue().sum())
                        .collect(Collectors.joining(" "));
    }

    private ServerServiceDefinition definition(MessageLite index) {
        MessageLite description = ServerMetadataResponse.newBuilder()
                .setName("stub")
                .setVersion("1")
                .addExtensions("model_repository")
                .build();
        return ServerServiceDefinition.builder(RawMethods.SERVICE)
                .addMethod(RawMethods.of("ModelInfer"), answering("ModelInfer", asked -> INFERRED))
                .addMethod(
                        RawMethods.of("ServerLive"),
                        answering(
                                "ServerLive",
                                asked -> ServerLiveResponse.newBuilder()
                                        .setLive(true)
                                        .build()))
                .addMethod(
                        RawMethods.of("ServerReady"),
                        answering(
                                "ServerReady",
                                asked -> ServerReadyResponse.newBuilder()
                                        .setReady(true)
                                        .build()))
                .addMethod(
                        RawMethods.of("ModelReady"),
                        answering(
                                "ModelReady",
                                asked -> ModelReadyResponse.newBuilder()
                                        .setReady(true)
                                        .build()))
                .addMethod(RawMethods.of("ServerMetadata"), answering("ServerMetadata", asked -> description))
                .addMethod(RawMethods.of("ModelMetadata"), answering("ModelMetadata", FleetStub::metadata))
                .addMethod(RawMethods.of("RepositoryIndex"), answering("RepositoryIndex", asked -> index))
                .build();
    }

    private static MessageLite index(List<String> models) {
        RepositoryIndexResponse.Builder index = RepositoryIndexResponse.newBuilder();
        for (String model : models) {
            index.addModelsBuilder().setName(model).setVersion("1").setState("READY");
        }
        return index.build();
    }

    private static MessageLite metadata(byte[] asked) throws InvalidProtocolBufferException {
        var tensor = ModelMetadataResponse.TensorMetadata.newBuilder()
                .setName("x")
                .setDatatype("FP32")
                .addAllShape(List.of(-1L, 4L));
        return ModelMetadataResponse.newBuilder()
                .setName(ModelMetadataRequest.parseFrom(asked).getName())
                .addVersions("1")
                .setPlatform("stub")
                .addInputs(tensor)
                .addOutputs(tensor.clone().setName("y"))
                .build();
    }

    /** Makes the response of a method. */
    private interface Method {
        MessageLite answer(byte[] asked) throws InvalidProtocolBufferException;
    }

    private ServerCallHandler<byte[], byte[]> answering(String name, Method method) {
        LongAdder count = requests.computeIfAbsent(name, unseen -> new LongAdder());
        return (call, headers) -> {
            call.request(2);
            return new ServerCall.Listener<>() {
                @Override
                public void onMessage(byte[] asked) {
                    count.increment();
                    FleetStub.answer(call, method, asked);
                }
            };
        };
    }

    private static void answer(ServerCall<byte[], byte[]> call, Method method, byte[] asked) {
        if (call.isCancelled()) {
            return;
        }
        try {
            byte[] response = method.answer(asked).toByteArray();
            call.sendHeaders(new Metadata());
            call.sendMessage(response);
            call.close(Status.OK, new Metadata());
        } catch (InvalidProtocolBufferException e) {
            call.close(Status.INVALID_ARGUMENT.withDescription(e.getMessage()), new Metadata());
        }
    }

    @Override
    public void close() {
        servers.forEach(Server::shutdownNow);
        loop.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }
}
