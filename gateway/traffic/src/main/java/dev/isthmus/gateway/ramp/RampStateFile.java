package dev.isthmus.gateway.ramp;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Persists the progress of ramps in a JSON file that is replaced atomically: a reader sees either the previous or the new
 * state. Its methods may block; never called on an event loop.
 */
public final class RampStateFile {
    private static final ObjectMapper JSON = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
    private static final StandardOpenOption[] REPLACED_ON_DISK = {
        StandardOpenOption.CREATE,
        StandardOpenOption.WRITE,
        StandardOpenOption.TRUNCATE_EXISTING,
        StandardOpenOption.SYNC
    };

    private final @Nullable Path file;

    /** @param file null to persist nothing */
    public RampStateFile(@Nullable Path file) {
        this.file = file == null ? null : file.toAbsolutePath();
    }

    /**
     * The progress saved last, by model; empty if none was saved.
     *
     * @throws IOException if it cannot be read or is malformed
     */
    Map<String, SavedRamp> load() throws IOException {
        if (file == null) {
            return Map.of();
        }
        byte[] bytes;
        try {
            bytes = Files.readAllBytes(file);
        } catch (NoSuchFileException nothingSaved) {
            return Map.of();
        }
        try {
            Map<String, SavedRamp> ramps = new HashMap<>();
            JsonNode all = JSON.readTree(bytes).required("ramps");
            if (!all.isObject()) {
                throw new IllegalArgumentException("'ramps' must be a JSON object, got " + all.getNodeType());
            }
            all.properties().forEach(ramp -> ramps.put(ramp.getKey(), ramp(ramp.getValue())));
            return ramps;
        } catch (JsonProcessingException | IllegalArgumentException | DateTimeException malformed) {
            Path renamed = file.resolveSibling(file.getFileName() + ".unreadable");
            Files.move(file, renamed, StandardCopyOption.REPLACE_EXISTING);
            throw new IOException(
                    "it is not a valid ramp state file and was renamed to " + renamed + ": " + firstLine(malformed),
                    malformed);
        }
    }

    private static String firstLine(Exception failure) {
        return String.valueOf(failure.getMessage()).lines().findFirst().orElse("");
    }

    private static SavedRamp ramp(JsonNode node) {
        return new SavedRamp(
                node.required("configuration").asText(),
                RampState.valueOf(node.required("state").asText().toUpperCase(Locale.ROOT)),
                node.required("step").asInt() - 1,
                node.required("share").asDouble(),
                node.required("reason").asText(),
                Instant.parse(node.required("changed").asText()),
                node.path("round").asLong(0));
    }

    /** @throws IOException if it cannot be saved; what was saved before is left */
    void save(Map<String, SavedRamp> ramps) throws IOException {
        if (file != null) {
            Path temporary = file.resolveSibling(file.getFileName() + ".new");
            Files.write(temporary, JSON.writeValueAsBytes(document(ramps)), REPLACED_ON_DISK);
            Files.move(temporary, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        }
    }

    private static ObjectNode document(Map<String, SavedRamp> ramps) {
        ObjectNode document = JSON.createObjectNode();
        ObjectNode all = document.putObject("ramps");
        new TreeMap<>(ramps)
                .forEach((model, ramp) -> all.putObject(model)
                        .put("state", ramp.state().label())
                        .put("step", ramp.step() + 1)
                        .put("share", ramp.share())
                        .put("reason", ramp.reason())
                        .put("changed", ramp.changed().toString())
                        .put("round", ramp.round())
                        .put("configuration", ramp.configuration()));
        return document;
    }

    @Override
    public String toString() {
        return String.valueOf(file);
    }
}
