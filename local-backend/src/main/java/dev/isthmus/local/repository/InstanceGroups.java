package dev.isthmus.local.repository;

import dev.isthmus.proto.config.ModelInstanceGroup;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The effect of {@code instance_group}: a model has one session on one device.
 *
 * @param count the maximum concurrent runs; 0 for the number of threads
 * @param device the device; null for the backend's
 */
record InstanceGroups(int count, @Nullable String device) {
    private static final int MAX = 1024;
    private static final int MAX_GPU = 255;

    /** @param ignored receives the fields that have no effect */
    static InstanceGroups of(List<ModelInstanceGroup> groups, List<String> ignored) {
        if (groups.isEmpty()) {
            return new InstanceGroups(0, null);
        }
        String device = device(groups.getFirst(), ignored);
        long count = 0;
        for (ModelInstanceGroup group : groups) {
            if (!Objects.equals(device, device(group, ignored))) {
                ignored.add("instance_group.kind of all but the first group");
            }
            if (group.getCount() < 0 || group.getCount() > MAX) {
                throw ConfigPbtxt.refused(
                        "instance_group: count from 0 to " + MAX + " is expected, got " + group.getCount());
            }
            count += Math.max(group.getCount(), 1);
        }
        return new InstanceGroups((int) Math.min(count, MAX), device);
    }

    private static @Nullable String device(ModelInstanceGroup group, List<String> ignored) {
        for (int gpu : group.getGpusList()) {
            if (gpu < 0 || gpu > MAX_GPU) {
                throw ConfigPbtxt.refused("instance_group: gpus from 0 to " + MAX_GPU + " are expected, got " + gpu);
            }
        }
        if (group.getGpusCount() > 1) {
            ignored.add("instance_group.gpus but the first");
        }
        return switch (group.getKind()) {
            case KIND_CPU, KIND_MODEL -> {
                if (group.getGpusCount() > 0) {
                    throw ConfigPbtxt.refused("instance_group: gpus are expected with KIND_GPU or KIND_AUTO only, got "
                            + group.getKind());
                }
                yield group.getKind() == ModelInstanceGroup.Kind.KIND_CPU ? "cpu" : null;
            }
            case KIND_GPU -> "gpu:" + (group.getGpusCount() == 0 ? 0 : group.getGpus(0));
            case KIND_AUTO, UNRECOGNIZED -> group.getGpusCount() == 0 ? null : "auto";
        };
    }
}
