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
            ModelConfigRequest.getDefaultInstance(),
            ModelConfigResponse.getDefaultInstance(),
            JsonForm.NOTHING,
            RepositoryJson.CONFIG_RESPONSE,
            FanOut.ONE_READY_SERVER),
    MODEL_STATISTICS(
            "statistics",
            Permission.STATISTICS,
            Rest.get("/v2/models/stats", "/v2/models/{model}/stats", "/v2/models/{model}/versions/{version}/stats"),
            ModelStatisticsRequest.getDefaultInstance(),
            ModelStatisticsResponse.getDefaultInstance(),
            JsonForm.NOTHING,
            JsonForm.FIELDS,
            FanOut.SUMMED_STATISTICS),
    TRACE_SETTING(
            "trace",
            Permission.TRACE,
            Rest.getOrPost(
                    "/v2/trace/setting",
                    "/v2/models/{model}/trace/setting",
                    "/v2/models/{model}/versions/{version}/trace/setting"),
            TraceSettingRequest.getDefaultInstance(),
            TraceSettingResponse.getDefaultInstance(),
            SettingsJson.TRACE_REQUEST,
            SettingsJson.TRACE_RESPONSE,
            FanOut.ONE_SERVER),
    LOG_SETTINGS(
            "logging",
            Permission.LOG,
            Rest.getOrPost("/v2/logging"),
            LogSettingsRequest.getDefaultInstance(),
            LogSettingsResponse.getDefaultInstance(),
            SettingsJson.LOG,
            SettingsJson.LOG,
            FanOut.ONE_SERVER),
    REPOSITORY_INDEX(
            "model_repository",
            Permission.METADATA,
            Rest.post("/v2/repository/index", "/v2/repository/{repository}/index"),
            RepositoryIndexRequest.getDefaultInstance(),
            RepositoryIndexResponse.getDefaultInstance(),
            RepositoryJson.INDEX_REQUEST,
            RepositoryJson.INDEX_RESPONSE,
            FanOut.MERGED_INDEX),
    REPOSITORY_LOAD(
            "model_repository",
            Permission.LOAD,
            Rest.post("/v2/repository/models/{model}/load", "/v2/repository/{repository}/models/{model}/load"),
            RepositoryModelLoadRequest.getDefaultInstance(),
            RepositoryModelLoadResponse.getDefaultInstance(),
            JsonForm.PARAMETERS,
            JsonForm.NOTHING,
            FanOut.EVERY_SERVER),
    REPOSITORY_UNLOAD(
            "model_repository",
            Permission.LOAD,
            Rest.post("/v2/repository/models/{model}/unload", "/v2/repository/{repository}/models/{model}/unload"),
            RepositoryModelUnloadRequest.getDefaultInstance(),
            RepositoryModelUnloadResponse.getDefaultInstance(),
            JsonForm.PARAMETERS,
            JsonForm.NOTHING,
            FanOut.EVERY_SERVER),
    SYSTEM_SHARED_MEMORY_STATUS(
            "system_shared_memory",
            Permission.SHARED_MEMORY,
            Rest.get("/v2/systemsharedmemory/status", "/v2/systemsharedmemory/region/{region}/status"),
            SystemSharedMemoryStatusRequest.getDefaultInstance(),
            SystemSharedMemoryStatusResponse.getDefaultInstance(),
            JsonForm.NOTHING,
            SharedMemoryJson.REGIONS,
            FanOut.ONE_SERVER),
    SYSTEM_SHARED_MEMORY_REGISTER(
            "system_shared_memory",
            Permission.SHARED_MEMORY,
            Rest.post("/v2/systemsharedmemory/region/{region}/register"),
            SystemSharedMemoryRegisterRequest.getDefaultInstance(),
            SystemSharedMemoryRegisterResponse.getDefaultInstance(),
            JsonForm.FIELDS,
            JsonForm.NOTHING,
            FanOut.ONE_SERVER),
    SYSTEM_SHARED_MEMORY_UNREGISTER(
            "system_shared_memory",
            Permission.SHARED_MEMORY,
            Rest.post("/v2/systemsharedmemory/unregister", "/v2/systemsharedmemory/region/{region}/unregister"),
            SystemSharedMemoryUnregisterRequest.getDefaultInstance(),
            SystemSharedMemoryUnregisterResponse.getDefaultInstance(),
            JsonForm.NOTHING,
            JsonForm.NOTHING,
            FanOut.ONE_SERVER),
    CUDA_SHARED_MEMORY_STATUS(
            "cuda_shared_memory",
            Permission.SHARED_MEMORY,
            Rest.get("/v2/cudasharedmemory/status", "/v2/cudasharedmemory/region/{region}/status"),
            CudaSharedMemoryStatusRequest.getDefaultInstance(),
            CudaSharedMemoryStatusResponse.getDefaultInstance(),
            JsonForm.NOTHING,
            SharedMemoryJson.REGIONS,
            FanOut.ONE_SERVER),
    CUDA_SHARED_MEMORY_REGISTER(
            "cuda_shared_memory",
            Permission.SHARED_MEMORY,
            Rest.post("/v2/cudasharedmemory/region/{region}/register"),
            CudaSharedMemoryRegisterRequest.getDefaultInstance(),
            CudaSharedMemoryRegisterResponse.getDefaultInstance(),
            SharedMemoryJson.CUDA_REGISTER,
            JsonForm.NOTHING,
            FanOut.ONE_SERVER),
    CUDA_SHARED_MEMORY_UNREGISTER(
            "cuda_shared_memory",
            Permission.SHARED_MEMORY,
            Rest.post("/v2/cudasharedmemory/unregister", "/v2/cudasharedmemory/region/{region}/unregister"),
            CudaSharedMemoryUnregisterRequest.getDefaultInstance(),
            CudaSharedMemoryUnregisterResponse.getDefaultInstance(),
            JsonForm.NOTHING,
            JsonForm.NOTHING,
            FanOut.ONE_SERVER);

    private final String advertisedName;
    private final Permission permission;
    private final Rest rest;
    private final String grpcMethod;
    private final RequestMessage request;
    private final Message response;
    private final JsonForm requestForm;
    private final JsonForm responseForm;
    private final FanOut fanOut;

    Extension(
            String advertisedName,
            Permission permission,
            Rest rest,
            Message request,
            Message response,
            JsonForm requestForm,
            JsonForm responseForm,
            FanOut fanOut) {
        this.advertisedName = advertisedName;
        this.permission = permission;
        this.rest = rest;
        this.grpcMethod = request.getDescriptorForType().getName().replaceFirst("Request$", "");
        this.request = new RequestMessage(request);
        this.response = response;
        this.requestForm = requestForm;
        this.responseForm = responseForm;
        this.fanOut = fanOut;
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
        return grpcMethod;
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
        RequestMessage.NamedRequest named = request.read(toString(), message);
        boolean change = rest.changes && (!rest.reads || named.settings());
        return new GrpcRequest(named.model(), named.resource(), change, named.modelFirst());
    }

    /** The gRPC request (borrowed) with another model name, owned by the caller. */
    public ByteBuf renamed(ByteBuf message, ModelRef model) {
        return request.renamed(message, model);
    }

    /** The gRPC request (borrowed) with other names, owned by the caller. */
    public ByteBuf renamed(ByteBuf message, ModelRef model, String resource) {
        return request.renamed(message, model, resource);
    }

    RequestMessage request() {
        return request;
    }

    Message response() {
        return response;
    }

    JsonForm requestForm() {
        return requestForm;
    }

    JsonForm responseForm() {
        return responseForm;
    }

    /** Which servers the request is sent to. */
    public FanOut fanOut() {
        return fanOut;
    }

    /** Whether a request that a server may already have processed may be sent to another one. */
    public boolean repeatable() {
        return fanOut.repeatable();
    }

    /** Whether it always names a model. */
    public boolean ofOneModel() {
        return rest.paths.stream().allMatch(path -> path.model() >= 0);
    }

    /** Whether its request may contain the files of a model, and so be large. */
    public boolean carriesFiles() {
        return this == REPOSITORY_LOAD;
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
