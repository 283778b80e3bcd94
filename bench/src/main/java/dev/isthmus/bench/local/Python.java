package dev.isthmus.bench.local;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.bench.process.BenchException;
import dev.isthmus.bench.process.Child;
import dev.isthmus.bench.process.Children;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;

/** The process of {@code ort_peer.py}, which measures on request and is idle otherwise. */
final class Python {
    private static final Duration START = Duration.ofSeconds(60);
    private static final Duration SLACK = Duration.ofSeconds(60);

    private final Child process;
    private final String version;

    private Python(Child process, String version) {
        this.process = process;
        this.version = version;
    }

    /**
     * Starts the process.
     *
     * @param folder for the inputs, which both sides read
     * @param onnx the file of a model
     */
    static Python start(
            Children children, Path python, Path script, Path folder, List<Case> cases, Function<String, Path> onnx)
            throws IOException, BenchException, InterruptedException {
        ObjectNode all = new ObjectMapper().createObjectNode();
        for (Case testCase : cases) {
            ObjectNode one = all.putObject(testCase.model());
            one.put("onnx", onnx.apply(testCase.model()).toString());
            for (Case.Input input : testCase.inputs()) {
                Path file = folder.resolve(testCase.model() + "." + input.name());
                Files.write(file, input.raw());
                ObjectNode described = one.withArray("inputs").addObject();
                described
                        .put("name", input.name())
                        .put("type", input.type().name())
                        .put("file", file.toString());
                described.putPOJO("shape", input.shape().toArray());
            }
        }
        Path file = folder.resolve("cases.json");
        new ObjectMapper().writeValue(file.toFile(), all);
        Child process =
                children.start("python", new ProcessBuilder(python.toString(), script.toString(), file.toString()));
        return new Python(process, process.await("ready ", START));
    }

    /** Its version of ONNX Runtime. */
    String version() {
        return version;
    }

    Latency latency(Case testCase, double seconds) throws IOException, BenchException, InterruptedException {
        double[] figures = ask("latency " + testCase.model() + " " + seconds, seconds);
        return new Latency(figures[0], figures[1]);
    }

    /** Runs per second with this many threads. */
    double perSecond(Case testCase, int threads, double seconds)
            throws IOException, BenchException, InterruptedException {
        return ask("threads " + testCase.model() + " " + threads + " " + seconds, seconds)[0];
    }

    private double[] ask(String line, double seconds) throws IOException, BenchException, InterruptedException {
        process.tell(line);
        String response = process.await("= ", SLACK.plusMillis(Math.round(seconds * 1_000)));
        String[] parts = response.toLowerCase(Locale.ROOT).trim().split(" ", -1);
        double[] figures = new double[parts.length];
        for (int i = 0; i < parts.length; i++) {
            figures[i] = Double.parseDouble(parts[i]);
        }
        return figures;
    }
}
