package dev.isthmus.local.repository;

import dev.isthmus.oip.Shape;
import dev.isthmus.proto.config.ModelConfig;
import dev.isthmus.proto.config.ModelWarmup;
import dev.isthmus.proto.config.ModelWarmup.Input.InputDataTypeCase;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Reads {@code model_warmup}: requests of zeros and of random values. Requests from files are ignored. */
final class WarmUpConfig {
    private static final int MAX_SAMPLES = 64;
    private static final int MAX_COUNT = 1000;
    private static final int MAX_BATCH = 1_000_000;

    private final ModelConfig config;
    private final List<String> ignored;

    /** @param ignored receives the fields that have no effect */
    WarmUpConfig(ModelConfig config, List<String> ignored) {
        this.config = config;
        this.ignored = ignored;
    }

    List<WarmUpRequest> read() {
        if (config.getModelWarmupCount() > MAX_SAMPLES) {
            throw ConfigPbtxt.refused("model_warmup: at most " + MAX_SAMPLES + " samples are expected, got "
                    + config.getModelWarmupCount());
        }
        List<WarmUpRequest> warmUps = new ArrayList<>();
        for (ModelWarmup sample : config.getModelWarmupList()) {
            boolean files = sample.getInputsMap().values().stream()
                    .anyMatch(input -> input.getInputDataTypeCase() == InputDataTypeCase.INPUT_DATA_FILE);
            if (files) {
                ignored.add("model_warmup '" + sample.getName() + "' with its input_data_file");
            } else {
                warmUps.add(warmUp(sample));
            }
        }
        return warmUps;
    }

    private WarmUpRequest warmUp(ModelWarmup sample) {
        String what = "model_warmup '" + sample.getName() + "': ";
        if (Integer.compareUnsigned(sample.getCount(), MAX_COUNT) > 0) {
            throw ConfigPbtxt.refused(what + "count from 0 to " + MAX_COUNT + " is expected, got "
                    + Integer.toUnsignedString(sample.getCount()));
        }
        if (Integer.compareUnsigned(sample.getBatchSize(), MAX_BATCH) > 0) {
            throw ConfigPbtxt.refused(what + "batch_size from 0 to " + MAX_BATCH + " is expected, got "
                    + Integer.toUnsignedString(sample.getBatchSize()));
        }
        Long batch = config.getMaxBatchSize() > 0 ? Long.valueOf(Math.max(sample.getBatchSize(), 1)) : null;
        List<WarmUpRequest.Input> inputs = new ArrayList<>();
        new TreeMap<>(sample.getInputsMap()).forEach((name, input) -> inputs.add(input(what, name, input, batch)));
        return new WarmUpRequest(sample.getName(), Math.max(sample.getCount(), 1), inputs);
    }

    private static WarmUpRequest.Input input(
            String sample, String name, ModelWarmup.Input input, @Nullable Long batch) {
        String what = sample + "input '" + name + "': ";
        Shape shape = ConfigPbtxt.shape(what, batch, input.getDimsList());
        if (shape.toList().contains(-1L)) {
            throw ConfigPbtxt.refused(what + "dims without -1 are expected, got " + input.getDimsList());
        }
        boolean random = switch (input.getInputDataTypeCase()) {
            case RANDOM_DATA -> input.getRandomData();
            case ZERO_DATA, INPUT_DATA_FILE, INPUTDATATYPE_NOT_SET -> false;
        };
        return new WarmUpRequest.Input(name, ConfigPbtxt.type(what, input.getDataType()), shape, random);
    }
}
