package dev.isthmus.gateway.endtoend;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.Gateway;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Published models, and the committed ones, in the local backend: the official clients receive bit for bit what the
 * same version of ONNX Runtime computes in Python. The tests are in {@code conformance/local}.
 */
class RealModelsTest {
    private static final List<String> FETCHED =
            List.of("magika", "silero_vad", "silero_vad_half", "ppocr_cls", "ppocr_det", "ppocr_rec");
    private static final List<String> EMBEDDED = List.of("digits", "simple");

    @TempDir
    Path folder = Path.of(".");

    @Test
    void realModels_respondAsOnnxRuntimeDoes() throws Exception {
        Path models = Script.folder("models", Script.run("models.sh"));
        Path runtime = Script.folder("onnxruntime", Script.run("install.sh", "onnxruntime"));
        reference(runtime, models);
        try (Gateway gateway = TestGateways.start("""
                listeners: [{port: 0, management: allow}]
                limits: {max_body_size: 16MiB}
                local: {embedded_models: true, model_repository: "%s"}
                default_upstream: local
                """.formatted(models))) {
            TestGateways.awaitReady(gateway);
            Script.pytest(
                    "local",
                    Map.of("ISTHMUS_LOCAL", TestGateways.address(gateway), "ISTHMUS_REFERENCE", folder.toString()));
        }
    }

    /** The results of ONNX Runtime in Python are written to the folder. */
    private void reference(Path runtime, Path models) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                runtime.resolve("bin/python").toString(),
                Script.path("local/reference.py").toString(),
                folder.toString()));
        for (String model : FETCHED) {
            command.add(model + "=" + models.resolve(model).resolve("1/model.onnx"));
        }
        for (String model : EMBEDDED) {
            Path file = Script.path("../local-backend/src/main/resources/models")
                    .resolve(model)
                    .resolve("1/model.onnx");
            assertThat(Files.isRegularFile(file)).as(file.toString()).isTrue();
            command.add(model + "=" + file);
        }
        assertThat(Script.run(Map.of(), command).complaint()).isEmpty();
    }
}
