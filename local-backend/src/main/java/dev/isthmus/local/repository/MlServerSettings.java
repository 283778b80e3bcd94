package dev.isthmus.local.repository;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.oip.DataType;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelMetadata.TensorMetadata;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Shape;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reads MLServer's model-settings.json: name, inputs, outputs, max_batch_size, max_batch_time, parameters.uri and
 * parameters.version.
 */
final class MlServerSettings {
    static final String NAME = "model-settings.json";
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Pattern VERSION = Pattern.compile("[\\w.+-]{1,128}");
    private static final int MAX_BATCH = 1_000_000;
    private static final double MAX_SECONDS = 60;

    private final List<String> ignored = new ArrayList<>();

    private MlServerSettings() {}

    /** @throws OipException FAILED_PRECONDITION naming value and expectation */
    static ModelFile read(String text) {
        try {
            JsonNode json = JSON.readTree(text);
            if (!json.isObject()) {
                throw refused("an object is expected");
            }
            return new MlServerSettings().file(json);
        } catch (JsonProcessingException e) {
            throw new OipException(ErrorCode.FAILED_PRECONDITION, NAME + ": " + e.getOriginalMessage(), e);
        }
    }

    private ModelFile file(JsonNode json) {
        JsonNode parameters = json.path("parameters");
        for (Map.Entry<String, JsonNode> field : json.properties()) {
            switch (field.getKey()) {
                case "name", "max_batch_size", "max_batch_time", "inputs", "outputs", "parameters" -> {}
                default -> ignored.add(field.getKey());
            }
        }
        for (Map.Entry<String, JsonNode> field : parameters.properties()) {
            if (!field.getKey().equals("uri") && !field.getKey().equals("version")) {
                ignored.add("parameters." + field.getKey());
            }
        }
        int size = batchSize(json.path("max_batch_size"));
        Duration time = batchTime(json.path("max_batch_time"));
        boolean batches = size > 1 && time.isPositive();
        ModelSettings settings = new ModelSettings(
                VersionPolicy.DEFAULT,
                batches ? size : 0,
                batches ? time : null,
                0,
                null,
                1,
                null,
                tensors("inputs", json.path("inputs")),
                tensors("outputs", json.path("outputs")),
                false,
                Map.of());
        return new ModelFile(
                text("name", json.path("name")),
                settings,
                List.of(),
                Map.of(),
                text("parameters.uri", parameters.path("uri")),
                version(parameters.path("version")),
                ignored);
    }

    private static int batchSize(JsonNode value) {
        if (value.isMissingNode() || value.isNull()) {
            return 0;
        }
        if (!value.isInt() || value.intValue() < 0 || value.intValue() > MAX_BATCH) {
            throw refused("max_batch_size from 0 to " + MAX_BATCH + " is expected, got " + value);
        }
        return value.intValue();
    }

    /** @param value in seconds */
    private static Duration batchTime(JsonNode value) {
        if (value.isMissingNode() || value.isNull()) {
            return Duration.ZERO;
        }
        double seconds = value.isNumber() ? value.doubleValue() : -1;
        if (seconds < 0 || seconds > MAX_SECONDS) {
            throw refused("max_batch_time from 0 to " + (int) MAX_SECONDS + " seconds is expected, got " + value);
        }
        return Duration.ofNanos(Math.round(seconds * 1e9));
    }

    private static @Nullable String text(String field, JsonNode value) {
        if (value.isMissingNode() || value.isNull()) {
            return null;
        }
        if (!value.isTextual() || value.textValue().isBlank()) {
            throw refused(field + ": a string is expected, got " + value);
        }
        return value.textValue();
    }

    private static @Nullable String version(JsonNode value) {
        String text = text("parameters.version", value);
        if (text != null && !VERSION.matcher(text).matches()) {
            throw refused("parameters.version: letters, digits and . _ + - are expected, got '" + text + "'");
        }
        return text;
    }

    private static List<TensorConfig> tensors(String field, JsonNode value) {
        List<TensorConfig> tensors = new ArrayList<>();
        for (JsonNode each : value) {
            String name = text(field + ".name", each.path("name"));
            String type = text(field + ".datatype", each.path("datatype"));
            if (name == null || type == null || DataType.byName(type).isEmpty()) {
                throw refused(field + ": a name and a datatype such as FP32 are expected, got " + each);
            }
            if (tensors.stream().anyMatch(tensor -> tensor.metadata().name().equals(name))) {
                throw refused(field + ": '" + name + "' is expected once");
            }
            TensorMetadata metadata = new TensorMetadata(name, type, shape(field, each.path("shape")), Map.of());
            tensors.add(new TensorConfig(metadata, null));
        }
        return tensors;
    }

    private static Shape shape(String field, JsonNode value) {
        List<Long> extents = new ArrayList<>();
        for (JsonNode each : value) {
            extents.add(each.isIntegralNumber() && each.canConvertToLong() ? each.longValue() : Long.MIN_VALUE);
        }
        if (!value.isArray()
                || extents.size() > Shape.MAX_RANK
                || extents.stream().anyMatch(extent -> extent < -1)) {
            throw refused(field + ": a shape such as [-1, 64] is expected, got " + value);
        }
        return Shape.of(extents);
    }

    private static OipException refused(String problem) {
        return new OipException(ErrorCode.FAILED_PRECONDITION, NAME + ": " + problem);
    }
}
