package dev.isthmus.gateway.upstream;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelInferResponse;
import dev.isthmus.proto.ModelMetadataRequest;
import dev.isthmus.proto.ModelMetadataResponse;
import dev.isthmus.proto.ModelReadyRequest;
import dev.isthmus.proto.ModelReadyResponse;
import dev.isthmus.proto.ModelStatistics;
import dev.isthmus.proto.ModelStatisticsRequest;
import dev.isthmus.proto.ModelStatisticsResponse;
import dev.isthmus.proto.RepositoryIndexResponse;
import dev.isthmus.proto.RepositoryModelLoadRequest;
import dev.isthmus.proto.RepositoryModelLoadResponse;
import dev.isthmus.proto.RepositoryModelUnloadRequest;
import dev.isthmus.proto.RepositoryModelUnloadResponse;
import dev.isthmus.proto.ServerMetadataResponse;
import dev.isthmus.proto.ServerReadyResponse;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** A model server of either protocol, whose metadata and readiness the test controls; counts its requests. */
public final class FakeV2Server implements AutoCloseable {
    private static final String NOT_READY = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
    private static final List<String> EXTENSIONS = List.of("model_repository", "statistics", "classification");

    private final UpstreamProtocol protocol;
    private final String name;
    private final Closeable server;
    private final Endpoint endpoint;
    private final Map<String, AtomicInteger> calls = new ConcurrentHashMap<>();
    private final List<ServerCall<byte[], byte[]>> held = new CopyOnWriteArrayList<>();
    /** Its models by name, with the datatype of their single input. */
    public final Map<String, String> models = new ConcurrentHashMap<>();

    /** The models that are ready. */
    public final Set<String> ready = ConcurrentHashMap.newKeySet();
    /** The models that were loaded. */
    public final List<String> loaded = new CopyOnWriteArrayList<>();

    /** Models that it no longer has, as inferences are told. */
    public final Set<String> gone = ConcurrentHashMap.newKeySet();

    /** Whether it is ready itself. */
    public volatile boolean serverReady = true;

    /** Whether it reads requests without responding. */
    public volatile boolean mute;

    /** Whether load requests succeed. */
    public volatile boolean loads = true;

    /** Whether requests for unknown models wait until {@link #release}. */
    public volatile boolean holding;

    /** Of each model, in its index. */
    public volatile List<String> versions = List.of("1");

    /** What it says of a model that it does not have. */
    public volatile String unknownModel = "no such model";

    public volatile int inferences;

    private FakeV2Server(UpstreamProtocol protocol, int port, String name) throws IOException {
        this.protocol = protocol;
        this.name = name;
        if (protocol == UpstreamProtocol.GRPC) {
            FakeGrpcServer grpc = FakeGrpcServer.complete(new Grpc(), port);
            server = grpc::close;
            endpoint = grpc.endpoint();
        } else {
            FakeRestServer rest = FakeRestServer.on(port, this::rest);
            server = rest::close;
            endpoint = rest.endpoint();
        }
    }

    public static FakeV2Server grpc() throws IOException {
        return on(UpstreamProtocol.GRPC, 0);
    }

    public static FakeV2Server rest() throws IOException {
        return on(UpstreamProtocol.REST, 0);
    }

    /**
     * Listens on a port.
     *
     * @param port 0 for any
     */
    public static FakeV2Server on(UpstreamProtocol protocol, int port) throws IOException {
        return on(protocol, port, "test");
    }

    /**
     * A server that is ready and has no models.
     *
     * @param port 0 for any
     * @param name in its metadata
     */
    public static FakeV2Server on(UpstreamProtocol protocol, int port, String name) throws IOException {
        return new FakeV2Server(protocol, port, name);
    }

    /** Adds a ready model. */
    public FakeV2Server with(String model, String datatype) {
        models.put(model, datatype);
        ready.add(model);
        return this;
    }

    public UpstreamProtocol protocol() {
        return protocol;
    }

    public Endpoint endpoint() {
        return endpoint;
    }

    /** How often it was called: the method of gRPC, and the model if it concerns one. */
    public int calls(String method) {
        AtomicInteger count = calls.get(method);
        return count == null ? 0 : count.get();
    }

    private void count(String method) {
        calls.computeIfAbsent(method, unknown -> new AtomicInteger()).incrementAndGet();
    }

    /** Responds to the requests held back. */
    public synchronized void release() {
        holding = false;
        held.forEach(call -> call.close(Status.NOT_FOUND.withDescription(unknownModel), new Metadata()));
    }

    private final class Grpc implements FakeGrpcServer.Script {
        @Override
        public boolean describes() {
            return true;
        }

        @Override
        public void message(ServerCall<byte[], byte[]> call, byte[] message) {
            grpc(call, message);
        }

        @Override
        public void ended(ServerCall<byte[], byte[]> call) {
            if (!held.contains(call)) {
                call.close(Status.OK, new Metadata());
            }
        }
    }

    private void grpc(ServerCall<byte[], byte[]> call, byte[] message) {
        String full = call.getMethodDescriptor().getFullMethodName();
        try {
            Message response = response(full.substring(full.indexOf('/') + 1), message);
            if (mute) {
                held.add(call);
            } else if (response != null) {
                call.sendMessage(response.toByteArray());
            } else if (!held(call)) {
                call.close(Status.NOT_FOUND.withDescription(unknownModel), new Metadata());
            }
        } catch (InvalidProtocolBufferException e) {
            call.close(Status.INVALID_ARGUMENT, new Metadata());
        }
    }

    /** Whether the call is held back. */
    private synchronized boolean held(ServerCall<byte[], byte[]> call) {
        if (holding) {
            held.add(call);
        }
        return holding;
    }

    private @Nullable Message response(String method, byte[] message) throws InvalidProtocolBufferException {
        return switch (method) {
            case "ServerReady" -> {
                count(method);
                yield ServerReadyResponse.newBuilder().setReady(serverReady).build();
            }
            case "ServerMetadata" -> {
                count(method);
                yield ServerMetadataResponse.newBuilder()
                        .setName(name)
                        .addAllExtensions(EXTENSIONS)
                        .build();
            }
            case "ModelReady" -> {
                String model = ModelReadyRequest.parseFrom(message).getName();
                count("ModelReady " + model);
                yield holding
                        ? null
                        : ModelReadyResponse.newBuilder()
                                .setReady(ready.contains(model))
                                .build();
            }
            case "ModelMetadata" -> {
                ModelMetadataRequest request = ModelMetadataRequest.parseFrom(message);
                String model = request.getName();
                count("ModelMetadata " + model);
                String datatype = models.get(model);
                String version = request.getVersion().isEmpty() ? "1" : request.getVersion();
                yield datatype == null ? null : metadata(model, version, datatype);
            }
            case "RepositoryIndex" -> {
                count("RepositoryIndex");
                yield index();
            }
            case "ModelStatistics" ->
                statistics(ModelStatisticsRequest.parseFrom(message).getName());
            case "ModelInfer" -> {
                ModelInferRequest request = ModelInferRequest.parseFrom(message);
                count("ModelInfer " + request.getModelName());
                yield gone.contains(request.getModelName())
                        ? null
                        : ModelInferResponse.newBuilder()
                                .setModelName(request.getModelName())
                                .setId(request.getId())
                                .build();
            }
            case "RepositoryModelLoad" -> {
                load(RepositoryModelLoadRequest.parseFrom(message).getModelName());
                yield loads ? RepositoryModelLoadResponse.getDefaultInstance() : null;
            }
            case "RepositoryModelUnload" -> {
                ready.remove(RepositoryModelUnloadRequest.parseFrom(message).getModelName());
                yield RepositoryModelUnloadResponse.getDefaultInstance();
            }
            default -> null;
        };
    }

    private void load(String model) {
        loaded.add(model);
        if (loads && models.containsKey(model)) {
            ready.add(model);
        }
    }

    private static ModelMetadataResponse metadata(String model, String version, String datatype) {
        return ModelMetadataResponse.newBuilder()
                .setName(model)
                .addVersions(version)
                .setPlatform("p")
                .addInputs(ModelMetadataResponse.TensorMetadata.newBuilder()
                        .setName("x")
                        .setDatatype(datatype)
                        .addShape(2))
                .build();
    }

    private RepositoryIndexResponse index() {
        RepositoryIndexResponse.Builder index = RepositoryIndexResponse.newBuilder();
        models.keySet().stream()
                .sorted()
                .forEach(model -> versions.forEach(version -> index.addModelsBuilder()
                        .setName(model)
                        .setVersion(version)
                        .setState(ready.contains(model) ? "READY" : "UNAVAILABLE")));
        return index.build();
    }

    private ModelStatisticsResponse statistics(String model) {
        return ModelStatisticsResponse.newBuilder()
                .addModelStats(ModelStatistics.newBuilder()
                        .setName(model)
                        .setVersion("1")
                        .setInferenceCount(inferences))
                .build();
    }

    private boolean rest(FakeRestServer.RestRequest request, OutputStream out) throws IOException {
        String path = request.head().split(" ", -1)[1];
        String response = rest(path);
        if (!mute) {
            FakeRestServer.write(out, response);
        }
        return true;
    }

    private String rest(String path) {
        String[] parts = path.split("/", -1);
        if (path.equals("/v2")) {
            count("ServerMetadata");
            return FakeRestServer.ok("{\"name\":\"" + name + "\",\"version\":\"\",\"extensions\":[\""
                    + String.join("\",\"", EXTENSIONS) + "\"]}");
        }
        if (path.equals("/v2/health/ready")) {
            count("ServerReady");
            return serverReady ? FakeRestServer.ok("{}") : NOT_READY;
        }
        if (path.equals("/v2/repository/index")) {
            count("RepositoryIndex");
            List<String> entries = new ArrayList<>();
            index().getModelsList()
                    .forEach(model -> entries.add("{\"name\":\"" + model.getName() + "\",\"version\":\"1\",\"state\":\""
                            + model.getState() + "\"}"));
            return FakeRestServer.ok(entries.toString());
        }
        if (path.endsWith("/load")) {
            load(parts[4]);
            return loads ? FakeRestServer.ok("") : notFound();
        }
        if (path.endsWith("/unload")) {
            ready.remove(parts[4]);
            return FakeRestServer.ok("");
        }
        String model = parts[3];
        if (path.endsWith("/stats")) {
            return FakeRestServer.ok("{\"model_stats\":[{\"name\":\"" + model
                    + "\",\"version\":\"1\",\"inference_count\":" + inferences + "}]}");
        }
        if (path.endsWith("/infer")) {
            count("ModelInfer " + model);
            return FakeRestServer.ok("{\"model_name\":\"" + model + "\",\"outputs\":[]}");
        }
        if (path.endsWith("/ready")) {
            return ready.contains(model) ? FakeRestServer.ok("{}") : models.containsKey(model) ? NOT_READY : notFound();
        }
        count("ModelMetadata " + model);
        String datatype = models.get(model);
        String version = parts.length > 5 && parts[4].equals("versions") ? parts[5] : "1";
        return datatype == null
                ? notFound()
                : FakeRestServer.ok("{\"name\":\"" + model + "\",\"versions\":[\"" + version + "\"],\"platform\":\"p\","
                        + "\"inputs\":[{\"name\":\"x\",\"datatype\":\"" + datatype
                        + "\",\"shape\":[2]}],\"outputs\":[]}");
    }

    private String notFound() {
        String body = "{\"error\":\"" + unknownModel + "\"}";
        return "HTTP/1.1 404 Not Found\r\nContent-Length: " + body.length() + "\r\n\r\n" + body;
    }

    @Override
    public void close() throws IOException {
        server.close();
    }
}
