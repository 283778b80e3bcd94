package dev.isthmus.gateway.upstream.rest;

import dev.isthmus.gateway.call.Operation;
import dev.isthmus.oip.ModelRef;

/** Paths of the management extensions (Triton's protocol documents). */
final class ManagePath {
    private ManagePath() {}

    static String of(Operation.Manage manage) {
        ModelRef model = manage.model();
        boolean one = !model.name().isEmpty();
        return switch (manage.extension()) {
            case MODEL_CONFIG -> ModelPath.of(model) + "/config";
            case MODEL_STATISTICS -> one ? ModelPath.of(model) + "/stats" : "/v2/models/stats";
            case TRACE_SETTING -> one ? ModelPath.of(model) + "/trace/setting" : "/v2/trace/setting";
            case LOG_SETTINGS -> "/v2/logging";
            case REPOSITORY_INDEX -> repository(manage) + "/index";
            case REPOSITORY_LOAD ->
                repository(manage) + "/models/" + ModelPath.segment("model name", model.name()) + "/load";
            case REPOSITORY_UNLOAD ->
                repository(manage) + "/models/" + ModelPath.segment("model name", model.name()) + "/unload";
            case SYSTEM_SHARED_MEMORY_STATUS -> "/v2/systemsharedmemory" + region(manage) + "/status";
            case SYSTEM_SHARED_MEMORY_REGISTER -> "/v2/systemsharedmemory" + region(manage) + "/register";
            case SYSTEM_SHARED_MEMORY_UNREGISTER -> "/v2/systemsharedmemory" + region(manage) + "/unregister";
            case CUDA_SHARED_MEMORY_STATUS -> "/v2/cudasharedmemory" + region(manage) + "/status";
            case CUDA_SHARED_MEMORY_REGISTER -> "/v2/cudasharedmemory" + region(manage) + "/register";
            case CUDA_SHARED_MEMORY_UNREGISTER -> "/v2/cudasharedmemory" + region(manage) + "/unregister";
        };
    }

    private static String repository(Operation.Manage manage) {
        return manage.resource().isEmpty()
                ? "/v2/repository"
                : "/v2/repository/" + ModelPath.segment("repository name", manage.resource());
    }

    private static String region(Operation.Manage manage) {
        return manage.resource().isEmpty() ? "" : "/region/" + ModelPath.segment("region name", manage.resource());
    }
}
