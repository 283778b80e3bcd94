package dev.isthmus.bench.local;

import dev.isthmus.local.LocalBackend;
import dev.isthmus.local.LocalSettings;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** A model repository for the bench: digits, an identity model, and the models of conformance/models.sh. */
record Repository(Path folder) {
    private static final int QUEUE = 1_024;

    /** A repository with the models of all cases. */
    static Repository of(Path folder, Path home, Path models) throws IOException {
        Repository made = new Repository(folder);
        made.add(Case.DIGITS, digits());
        made.add(Case.MEBIBYTE, read(home.resolve("local-backend/src/test/resources/models"), Case.MEBIBYTE));
        for (Case testCase : new Case[] {Case.SILERO, Case.CLASSIFIER, Case.MAGIKA}) {
            made.add(testCase, read(models, testCase));
        }
        return made;
    }

    /** A repository with only digits, with dynamic batching and no queue delay. */
    static Repository batching(Path folder) throws IOException {
        Repository made = new Repository(folder);
        made.add(Case.DIGITS, digits());
        Files.writeString(folder.resolve("digits/config.pbtxt"), """
                max_batch_size: 16
                dynamic_batching { }
                """);
        return made;
    }

    private static byte[] read(Path repository, Case testCase) throws IOException {
        return Files.readAllBytes(repository.resolve(testCase.model()).resolve("1/model.onnx"));
    }

    private static byte[] digits() throws IOException {
        try (InputStream in = LocalBackend.class.getResourceAsStream("/models/digits/1/model.onnx")) {
            return in.readAllBytes();
        }
    }

    private void add(Case testCase, byte[] onnx) throws IOException {
        Files.createDirectories(onnx(testCase.model()).getParent());
        Files.write(onnx(testCase.model()), onnx);
    }

    Path onnx(String model) {
        return folder.resolve(model).resolve("1/model.onnx");
    }

    /** Opens a backend that loads all models at start. */
    LocalBackend open(int threads) {
        return LocalBackend.start(new LocalSettings(
                        folder, false, threads, QUEUE, false, List.of("*"), "cpu", Duration.ofMinutes(2)))
                .awaitStart();
    }
}
