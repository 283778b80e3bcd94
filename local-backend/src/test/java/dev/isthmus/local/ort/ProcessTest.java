package dev.isthmus.local.ort;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.local.LocalBackend;
import dev.isthmus.local.TestSettings;
import dev.isthmus.local.repository.ModelSettings;
import dev.isthmus.local.repository.ModelSource;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Processes that start and end under adverse conditions. */
class ProcessTest {
    private static final String WELL = "loaded to the end";

    @TempDir
    Path folder = Path.of(".");

    /** ONNX Runtime's own hook releases its environment long before this one ends. */
    static final class LoadsWhileItEnds {
        private LoadsWhileItEnds() {}

        public static void main(String[] arguments) {
            LocalBackend.start(TestSettings.of(null, true, 1, 1)).awaitStart().close();
            Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                for (int i = 0; i < 100; i++) {
                    OnnxModel.load(digits(), "cpu").release();
                }
                System.out.println(WELL);
            }));
            System.exit(0);
        }
    }

    /** Daemon threads load models until the process ends. */
    static final class EndsWhileItLoads {
        private EndsWhileItLoads() {}

        public static void main(String[] arguments) {
            LocalBackend.start(TestSettings.of(null, true, 1, 1)).awaitStart().close();
            for (int i = 0; i < 4; i++) {
                Thread.ofPlatform().daemon().start(() -> {
                    while (true) {
                        LocalBackend.start(TestSettings.of(null, true, 1, 1))
                                .awaitStart()
                                .close();
                    }
                });
            }
            LocalBackend.start(TestSettings.of(null, true, 1, 1)).awaitStart().close();
            System.out.println(WELL);
            System.exit(0);
        }
    }

    /** Creates the environment and exits. */
    static final class Starts {
        private Starts() {}

        public static void main(String[] arguments) {
            LocalBackend.start(TestSettings.of(null, true, 1, 1)).awaitStart().close();
            System.out.println(WELL);
        }
    }

    /** Has no library to load, as where there is no folder to which the one in the jar can be written. */
    static final class HasNoLibrary {
        private HasNoLibrary() {}

        public static void main(String[] arguments) {
            System.setProperty("onnxruntime.native.path", "/none");
            String obstacle = LocalBackend.start(TestSettings.of(null, true, 1, 1))
                    .awaitStart()
                    .obstacle();
            System.out.println(obstacle);
            String reason = " is not loaded: ONNX Runtime cannot be started; the log says why";
            System.out.println(
                    obstacle.equals("model 'digits'" + reason + "; model 'simple'" + reason) ? WELL : "other reasons");
        }
    }

    private static ModelSource digits() {
        return new ModelSource(
                "digits",
                "1",
                ModelSettings.DEFAULT,
                () -> {
                    try (InputStream in = LocalBackend.class.getResourceAsStream("/models/digits/1/model.onnx")) {
                        return in.readAllBytes();
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                },
                List.of());
    }

    @Test
    void environment_isThereUntilAllHooksAreDone() throws Exception {
        end(LoadsWhileItEnds.class);
    }

    @Test
    void process_thatEndsDuringLoads_endsWell() throws Exception {
        for (int i = 0; i < 3; i++) {
            end(EndsWhileItLoads.class);
        }
    }

    @Test
    void process_withLongCommandLine_starts() throws Exception {
        end(Starts.class, "a".repeat(20_000));
    }

    @Test
    void models_whoseRuntimeCannotBeStarted_haveThatReason() throws Exception {
        end(HasNoLibrary.class);
    }

    private void end(Class<?> program, String... arguments) throws IOException, InterruptedException {
        Path output = folder.resolve("output");
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "--enable-native-access=ALL-UNNAMED",
                "-XX:ErrorFile=" + folder.resolve("crash"),
                "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                program.getName()));
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        boolean ended = process.waitFor(2, TimeUnit.MINUTES);
        process.destroyForcibly();
        String text = Files.readString(output, StandardCharsets.UTF_8);
        assertThat(ended).as(text).isTrue();
        assertThat(process.exitValue()).as(text).isZero();
        assertThat(text).contains(WELL).doesNotContain("SIGSEGV", "DefaultLogger");
    }
}
