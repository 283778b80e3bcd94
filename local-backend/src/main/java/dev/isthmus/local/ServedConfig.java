package dev.isthmus.local;

import dev.isthmus.local.ort.OnnxModel;
import dev.isthmus.local.repository.ModelSettings;
import dev.isthmus.local.repository.TensorConfig;
import dev.isthmus.local.repository.VersionPolicy;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.Shape;
import dev.isthmus.proto.config.DataType;
import dev.isthmus.proto.config.ModelConfig;
import dev.isthmus.proto.config.ModelDynamicBatching;
import dev.isthmus.proto.config.ModelInput;
import dev.isthmus.proto.config.ModelInstanceGroup;
import dev.isthmus.proto.config.ModelInstanceGroup.Kind;
import dev.isthmus.proto.config.ModelOutput;
import dev.isthmus.proto.config.ModelParameter;
import dev.isthmus.proto.config.ModelTensorReshape;
import dev.isthmus.proto.config.ModelVersionPolicy;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** A loaded model's effective configuration, including defaults, in Triton's form. */
final class ServedConfig {

    private ServedConfig() {}

    /** @param threads the backend's number of threads */
    static ModelConfig of(OnnxModel model, int threads) {
        ModelSettings settings = model.settings();
        boolean batches = settings.maxBatchSize() > 0;
        ModelConfig.Builder config = ModelConfig.newBuilder()
                .setName(model.ref().name())
                .setPlatform(OnnxModel.PLATFORM)
                .setBackend("onnxruntime")
                .setVersionPolicy(policy(settings.versions()))
                .setMaxBatchSize(settings.maxBatchSize())
                .addInstanceGroup(group(settings, threads))
                .putParameters("intra_op_thread_count", text(Integer.toString(settings.intraOpThreads())));
        for (TensorMetadata input : model.inputs()) {
            ModelInput.Builder built = config.addInputBuilder()
                    .setName(input.name())
                    .setDataType(type(input))
                    .addAllDims(dims(input.shape(), batches));
            TensorConfig.of(settings.inputs(), input.name()).ifPresent(file -> {
                built.setAllowRaggedBatch(file.ragged());
                reshape(file, batches).ifPresent(built::setReshape);
            });
        }
        for (TensorMetadata output : model.outputs()) {
            ModelOutput.Builder built = config.addOutputBuilder()
                    .setName(output.name())
                    .setDataType(type(output))
                    .addAllDims(dims(output.shape(), batches));
            TensorConfig.of(settings.outputs(), output.name())
                    .flatMap(file -> reshape(file, batches))
                    .ifPresent(built::setReshape);
        }
        Duration delay = settings.maxQueueDelay();
        if (delay != null) {
            config.setDynamicBatching(
                    ModelDynamicBatching.newBuilder().setMaxQueueDelayMicroseconds(delay.toNanos() / 1000));
        }
        String translator = settings.translator();
        if (translator != null) {
            config.putParameters("translator", text(translator));
        }
        return config.build();
    }

    private static Optional<ModelTensorReshape> reshape(TensorConfig file, boolean batches) {
        Shape shape = file.reshape();
        return shape == null || file.ragged()
                ? Optional.empty()
                : Optional.of(ModelTensorReshape.newBuilder()
                        .addAllShape(dims(shape, batches))
                        .build());
    }

    private static ModelParameter text(String value) {
        return ModelParameter.newBuilder().setStringValue(value).build();
    }

    private static ModelInstanceGroup group(ModelSettings settings, int threads) {
        ModelInstanceGroup.Builder group =
                ModelInstanceGroup.newBuilder().setCount(settings.instances() == 0 ? threads : settings.instances());
        String device = settings.device();
        if (device == null || device.equals("auto")) {
            return group.setKind(Kind.KIND_AUTO).build();
        }
        if (device.equals("cpu")) {
            return group.setKind(Kind.KIND_CPU).build();
        }
        return group.setKind(Kind.KIND_GPU)
                .addGpus(Integer.parseInt(device.substring("gpu:".length())))
                .build();
    }

    private static ModelVersionPolicy policy(VersionPolicy versions) {
        ModelVersionPolicy.Builder policy = ModelVersionPolicy.newBuilder();
        switch (versions) {
            case VersionPolicy.Latest latest -> policy.getLatestBuilder().setNumVersions(latest.count());
            case VersionPolicy.All all -> policy.getAllBuilder();
            case VersionPolicy.Specific specific -> policy.getSpecificBuilder().addAllVersions(specific.versions());
        }
        return policy.build();
    }

    private static DataType type(TensorMetadata tensor) {
        String name = tensor.dataType().equals("BYTES") ? "STRING" : tensor.dataType();
        return DataType.valueOf("TYPE_" + name);
    }

    /** As in Triton: without the batch dimension of batched models. */
    private static List<Long> dims(Shape shape, boolean batches) {
        List<Long> all = shape.toList();
        return batches && !all.isEmpty() ? all.subList(1, all.size()) : all;
    }
}
