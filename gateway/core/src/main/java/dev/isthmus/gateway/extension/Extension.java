package dev.isthmus.gateway.extension;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import dev.isthmus.gateway.settings.Permission;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.proto.CudaSharedMemoryRegisterRequest;
import dev.isthmus.proto.CudaSharedMemoryRegisterResponse;
import dev.isthmus.proto.CudaSharedMemoryStatusRequest;
import dev.isthmus.proto.CudaSharedMemoryStatusResponse;
import dev.isthmus.proto.CudaSharedMemoryUnregisterRequest;
import dev.isthmus.proto.CudaSharedMemoryUnregisterResponse;
import dev.isthmus.proto.LogSettingsRequest;
import dev.isthmus.proto.LogSettingsResponse;
import dev.isthmus.proto.ModelConfigRequest;
import dev.isthmus.proto.ModelConfigResponse;
import dev.isthmus.proto.ModelStatisticsRequest;
import dev.isthmus.proto.ModelStatisticsResponse;
import dev.isthmus.proto.RepositoryIndexRequest;
import dev.isthmus.proto.RepositoryIndexResponse;
import dev.isthmus.proto.RepositoryModelLoadRequest;
import dev.isthmus.proto.RepositoryModelLoadResponse;
import dev.isthmus.proto.RepositoryModelUnloadRequest;
import dev.isthmus.proto.RepositoryModelUnloadResponse;
import dev.isthmus.proto.SystemSharedMemoryRegisterRequest;
import dev.isthmus.proto.SystemSharedMemoryRegisterResponse;
import dev.isthmus.proto.SystemSharedMemoryStatusRequest;
import dev.isthmus.proto.SystemSharedMemoryStatusResponse;
import dev.isthmus.proto.SystemSharedMemoryUnregisterRequest;
import dev.isthmus.proto.SystemSharedMemoryUnregisterResponse;
import dev.isthmus.proto.TraceSettingRequest;
import dev.isthmus.proto.TraceSettingResponse;
import io.netty.buffer.ByteBuf;
import java.util.List;
import java.util.stream.Stream;

/**
 * The operations of the management extensions (Triton's protocol documents; MLServer has those of the repository), with
 * everything that distinguishes them. Routes, upstream clients, fan-out and server metadata read this table; only the
 * code that handles an operation refers to it by name.
 */
@SuppressWarnings("ImmutableEnumChecker") // records of values and templates, which nobody changes
public enum Extension {
    MODEL_CONFIG(
            "model_configuration",
            Permission.METADATA,
            Rest.get("/v2/models/{model}/config", "/v2/models/{model}/versions/{version}/config"),
            new Rpc(
                    "ModelConfig",
                    RequestMessage.of(ModelConfigRequest.getDefaultInstance())
                            .model("name")
                            .version("version"),
                    ModelConfigResponse.getDefaultInstance()),
            new Body(JsonForm.NOTHING, RepositoryJson.CONFIG_RESPONSE),
            FanOut.ONE_READY_SERVER,
            Repetition.SAFE),
    MODEL_STATISTICS(
            "statistics",
            Permission.STATISTICS,
            Rest.get("/v2/models/stats", "/v2/models/{model}/stats", "/v2/models/{model}/versions/{version}/stats"),
            new Rpc(
                    "ModelStatistics",
                    RequestMessage.of(ModelStatisticsRequest.getDefaultInstance())
                            .model("name")
                            .version("version"),
                    ModelStatisticsResponse.getDefaultInstance()),
            new Body(JsonForm.NOTHING, JsonForm.FIELDS),
            FanOut.SUMMED_STATISTICS,
            Repetition.SAFE),
    TRACE_SETTING(
            "trace",
            Permission.TRACE,
            Rest.getOrPost(
                    "/v2/trace/setting",
                    "/v2/models/{model}/trace/setting",
                    "/v2/models/{model}/versions/{version}/trace/setting"),
            new Rpc(
                    "TraceSetting",
                    RequestMessage.of(TraceSettingRequest.getDefaultInstance()).model("model_name"),
                    TraceSettingResponse.getDefaultInstance()),
            new Body(SettingsJson.TRACE_REQUEST, SettingsJson.TRACE_RESPONSE),
            FanOut.ONE_SERVER,
            Repetition.NEVER),
    LOG_SETTINGS(
            "logging",
            Permission.LOG,
            Rest.getOrPost("/v2/logging"),
            new Rpc(
                    "LogSettings",
                    RequestMessage.of(LogSettingsRequest.getDefaultInstance()),
                    LogSettingsResponse.getDefaultInstance()),
            new Body(SettingsJson.LOG, SettingsJson.LOG),
            FanOut.ONE_SERVER,
            Repetition.NEVER),
    REPOSITORY_INDEX(
            "model_repository",
            Permission.METADATA,
            Rest.post("/v2/repository/index", "/v2/repository/{repository}/index"),
            new Rpc(
                    "RepositoryIndex",
                    RequestMessage.of(RepositoryIndexRequest.getDefaultInstance())
                            .resource("repository_name"),
                    RepositoryIndexResponse.getDefaultInstance()),
            new Body(RepositoryJson.INDEX_REQUEST, RepositoryJson.INDEX_RESPONSE),
            FanOut.MERGED_INDEX,
            Repetition.SAFE),
    REPOSITORY_LOAD(
            "model_repository",
            Permission.LOAD,
            Rest.post("/v2/repository/models/{model}/load", "/v2/repository/{repository}/models/{model}/load"),
            new Rpc(
                    "RepositoryModelLoad",
                    RequestMessage.of(RepositoryModelLoadRequest.getDefaultInstance())
                            .resource("repository_name")
                            .model("model_name"),
                    RepositoryModelLoadResponse.getDefaultInstance()),
            new Body(JsonForm.FILES, JsonForm.NOTHING),
            FanOut.EVERY_SERVER,
            Repetition.NEVER),
    REPOSITORY_UNLOAD(
            "model_repository",
            Permission.LOAD,
            Rest.post("/v2/repository/models/{model}/unload", "/v2/repository/{repository}/models/{model}/unload"),
            new Rpc(
                    "RepositoryModelUnload",
                    RequestMessage.of(RepositoryModelUnloadRequest.getDefaultInstance())
                            .resource("repository_name")
                            .model("model_name"),
                    RepositoryModelUnloadResponse.getDefaultInstance()),
            new Body(RepositoryJson.UNLOAD_REQUEST, JsonForm.NOTHING),
            FanOut.EVERY_SERVER,
            Repetition.NEVER),
    SYSTEM_SHARED_MEMORY_STATUS(
            "system_shared_memory",
            Permission.SHARED_MEMORY,
            Rest.get("/v2/systemsharedmemory/status", "/v2/systemsharedmemory/region/{region}/status"),
            new Rpc(
                    "SystemSharedMemoryStatus",
                    RequestMessage.of(SystemSharedMemoryStatusRequest.getDefaultInstance())
                            .resource("name"),
                    SystemSharedMemoryStatusResponse.getDefaultInstance()),
            new Body(JsonForm.NOTHING, SharedMemoryJson.REGIONS),
            FanOut.ONE_SERVER,
            Repetition.NEVER),
    SYSTEM_SHARED_MEMORY_REGISTER(
            "system_shared_memory",
            Permission.SHARED_MEMORY,
            Rest.post("/v2/systemsharedmemory/region/{region}/register"),
            new Rpc(
                    "SystemSharedMemoryRegister",
                    RequestMessage.of(SystemSharedMemoryRegisterRequest.getDefaultInstance())
                            .resource("name"),
                    SystemSharedMemoryRegisterResponse.getDefaultInstance()),
            new Body(SharedMemoryJson.SYSTEM_REGISTER, JsonForm.NOTHING),
            FanOut.ONE_SERVER,
            Repetition.NEVER),
    SYSTEM_SHARED_MEMORY_UNREGISTER(
            "system_shared_memory",
            Permission.SHARED_MEMORY,
            Rest.post("/v2/systemsharedmemory/unregister", "/v2/systemsharedmemory/region/{region}/unregister"),
            new Rpc(
                    "SystemSharedMemoryUnregister",
                    RequestMessage.of(SystemSharedMemoryUnregisterRequest.getDefaultInstance())
                            .resource("name"),
                    SystemSharedMemoryUnregisterResponse.getDefaultInstance()),
            new Body(JsonForm.NOTHING, JsonForm.NOTHING),
            FanOut.ONE_SERVER,
            Repetition.NEVER),
    CUDA_SHARED_MEMORY_STATUS(
            "cuda_shared_memory",
            Permission.SHARED_MEMORY,
            Rest.get("/v2/cudasharedmemory/status", "/v2/cudasharedmemory/region/{region}/status"),
            new Rpc(
                    "CudaSharedMemoryStatus",
                    RequestMessage.of(CudaSharedMemoryStatusRequest.getDefaultInstance())
                            .resource("name"),
                    CudaSharedMemoryStatusResponse.getDefaultInstance()),
            new Body(JsonForm.NOTHING, SharedMemoryJson.REGIONS),
            FanOut.ONE_SERVER,
            Repetition.NEVER),
    CUDA_SHARED_MEMORY_REGISTER(
            "cuda_shared_memory",
            Permission.SHARED_MEMORY,
            Rest.post("/v2/cudasharedmemory/region/{region}/register"),
            new Rpc(
                    "CudaSharedMemoryRegister",
                    RequestMessage.of(CudaSharedMemoryRegisterRequest.getDefaultInstance())
                            .resource("name"),
                    CudaSharedMemoryRegisterResponse.getDefaultInstance()),
            new Body(SharedMemoryJson.CUDA_REGISTER, JsonForm.NOTHING),
            FanOut.ONE_SERVER,
            Repetition.NEVER),
    CUDA_SHARED_MEMORY_UNREGISTER(
            "cuda_shared_memory",
            Permission.SHARED_MEMORY,
            Rest.post("/v2/cudasharedmemory/unregister", "/v2/cudasharedmemory/region/{region}/unregister"),
            new Rpc(
                    "CudaSharedMemoryUnregister",
                    RequestMessage.of(CudaSharedMemoryUnregisterRequest.getDefaultInstance())
                            .resource("name"),
                    CudaSharedMemoryUnregisterResponse.getDefaultInstance()),
            new Body(JsonForm.NOTHING, JsonForm.NOTHING),
            FanOut.ONE_SERVER,
            Repetition.NEVER);

    private final String advertisedName;
    private final Permission permission;
    private final Rest rest;
    private final Rpc rpc;
    private final Body body;
    private final FanOut fanOut;
    private final Repetition repetition;

    Extension(
            String advertisedName,
            Permission permission,
            Rest rest,
            Rpc rpc,
            Body body,
            FanOut fanOut,
            Repetition repetition) {
        this.advertisedName = advertisedName;
        this.permission = permission;
        this.rest = rest;
        this.rpc = rpc;
        this.body = body;
        this.fanOut = fanOut;
        this.repetition = repetition;
    }

    /**
     * How REST requests it.
     *
     * @param reads whether GET reads something
     * @param changes whether POST changes something
     * @param paths those with fewer parameters first
     */
    private record Rest(boolean reads, boolean changes, List<PathTemplate> paths) {
        static Rest get(String... paths) {
            return of(true, false, paths);
        }

        static Rest post(String... paths) {
            return of(false, true, paths);
        }

        static Rest getOrPost(String... paths) {
            return of(true, true, paths);
        }

        private static Rest of(boolean reads, boolean changes, String... paths) {
            return new Rest(
                    reads, changes, Stream.of(paths).map(PathTemplate::of).toList());
        }
    }

    /**
     * How gRPC requests it.
     *
     * @param method of {@code inference.GRPCInferenceService}
     * @param response the response type
     */
    private record Rpc(String method, RequestMessage request, Message response) {}

    private record Body(JsonForm request, JsonForm response) {}

    /** Whether a request that a server may already have processed may be sent to another one. */
    private enum Repetition {
        SAFE,
        NEVER
    }

    /** The extension's name in the {@code extensions} of a server's metadata. */
    public String advertisedName() {
        return advertisedName;
    }

    /** What a caller needs to be allowed. */
    public Permission permission() {
        return permission;
    }

    /** The REST paths, those with fewer parameters first. */
    public List<PathTemplate> paths() {
        return rest.paths;
    }

    /** The action: the last segment of its paths. */
    public String verb() {
        return rest.paths.getFirst().segments().getLast();
    }

    /** The REST methods, in the form of the {@code Allow} header. */
    public String allow() {
        return rest.reads && rest.changes ? "GET, POST" : rest.changes ? "POST" : "GET";
    }

    /** Whether a REST request with this method, one of {@link #allow()}, changes something. */
    public boolean changes(String method) {
        return rest.changes && (!rest.reads || method.equals("POST"));
    }

    /** The path on a REST server: the one with the most parameters that are all given. */
    public String path(ModelRef model, String resource, PathTemplate.SegmentEncoder encoder) {
        PathTemplate chosen = rest.paths.getFirst();
        for (PathTemplate path : rest.paths) {
            chosen = path.covers(model, resource) ? path : chosen;
        }
        return chosen.path(model, resource, encoder);
    }

    /** The method of {@code inference.GRPCInferenceService}. */
    public String grpcMethod() {
        return rpc.method;
    }

    /**
     * What a gRPC request asks for.
     *
     * @param model empty if the operation is about the server
     * @param resource the name of a repository or a shared memory region; empty for none or all
     * @param change whether it changes something
     * @param modelFirst whether it is KServe's, with the model's name in the field of the repository
     */
    public record GrpcRequest(ModelRef model, String resource, boolean change, boolean modelFirst) {}

    /**
     * Reads what a gRPC request (borrowed) asks for, without reading its payload, which may be large.
     *
     * @throws dev.isthmus.oip.OipException INVALID_ARGUMENT if a limit is exceeded
     */
    public GrpcRequest read(ByteBuf message) throws InvalidProtocolBufferException {
        RequestMessage.NamedRequest named = rpc.request.read(toString(), message);
        boolean change = rest.changes && (!rest.reads || named.settings());
        return new GrpcRequest(named.model(), named.resource(), change, named.modelFirst());
    }

    /** The gRPC request (borrowed) with another model name, owned by the caller. */
    public ByteBuf renamed(ByteBuf message, ModelRef model) {
        return rpc.request.renamed(message, model);
    }

    /** The gRPC request (borrowed) with other names, owned by the caller. */
    public ByteBuf renamed(ByteBuf message, ModelRef model, String resource) {
        return rpc.request.renamed(message, model, resource);
    }

    RequestMessage request() {
        return rpc.request;
    }

    Message response() {
        return rpc.response;
    }

    JsonForm requestForm() {
        return body.request;
    }

    JsonForm responseForm() {
        return body.response;
    }

    /** Which servers the request is sent to. */
    public FanOut fanOut() {
        return fanOut;
    }

    /** Whether a request that a server may already have processed may be sent to another one. */
    public boolean repeatable() {
        return repetition == Repetition.SAFE;
    }

    /** Whether it always names a model. */
    public boolean ofOneModel() {
        return rest.paths.stream().allMatch(path -> path.model() >= 0);
    }

    /** Whether its request may contain the files of a model, and so be large. */
    public boolean carriesFiles() {
        return body.request.equals(JsonForm.FILES);
    }

    /** Whether it loads or unloads a model. */
    public boolean changesRepository() {
        return fanOut == FanOut.EVERY_SERVER;
    }

    /** Whether it concerns memory that client and server share. */
    public boolean sharedMemory() {
        return advertisedName.endsWith("shared_memory");
    }
}
