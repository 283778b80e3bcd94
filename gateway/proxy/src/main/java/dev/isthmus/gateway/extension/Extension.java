package dev.isthmus.gateway.extension;

/** The operations of the management extensions (Triton's protocol documents; MLServer has those of the repository). */
public enum Extension {
    MODEL_CONFIG("ModelConfig"),
    MODEL_STATISTICS("ModelStatistics"),
    TRACE_SETTING("TraceSetting"),
    LOG_SETTINGS("LogSettings"),
    REPOSITORY_INDEX("RepositoryIndex"),
    REPOSITORY_LOAD("RepositoryModelLoad"),
    REPOSITORY_UNLOAD("RepositoryModelUnload"),
    SYSTEM_SHARED_MEMORY_STATUS("SystemSharedMemoryStatus"),
    SYSTEM_SHARED_MEMORY_REGISTER("SystemSharedMemoryRegister"),
    SYSTEM_SHARED_MEMORY_UNREGISTER("SystemSharedMemoryUnregister"),
    CUDA_SHARED_MEMORY_STATUS("CudaSharedMemoryStatus"),
    CUDA_SHARED_MEMORY_REGISTER("CudaSharedMemoryRegister"),
    CUDA_SHARED_MEMORY_UNREGISTER("CudaSharedMemoryUnregister");

    private final String grpcMethod;

    Extension(String grpcMethod) {
        this.grpcMethod = grpcMethod;
    }

    /** The method of {@code inference.GRPCInferenceService}. */
    public String grpcMethod() {
        return grpcMethod;
    }

    /** Whether it is asked of one model, and never of the whole server. */
    public boolean ofOneModel() {
        return this == MODEL_CONFIG || this == REPOSITORY_LOAD || this == REPOSITORY_UNLOAD;
    }

    /** Whether its request may bring the files of a model, and so be large. */
    public boolean carriesFiles() {
        return this == REPOSITORY_LOAD;
    }

    /** Whether it is about memory that client and server share. */
    public boolean sharedMemory() {
        return grpcMethod.contains("SharedMemory");
    }
}
