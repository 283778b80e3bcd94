package dev.isthmus.local.ort;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.oip.DataType;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.Shape;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.ByteBufUtil;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.assertj.core.api.SoftAssertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Compares outputs, byte for byte, with those of the same ONNX Runtime in Python: {@code
 * conformance/onnx/reference.py}.
 */
class ReferenceTest {
    private static final Path CONFORMANCE = Path.of(System.getProperty("isthmus.root", ".."))
            .toAbsolutePath()
            .normalize()
            .resolve("conformance");
    private static final int FEWEST_CASES = 60;

    @TempDir
    Path folder;

    /** A tensor of the reference. */
    private record Entry(String name, DataType type, Shape shape, Path file) {
        byte[] raw() {
            try {
                return Files.readAllBytes(file);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /** A run of the reference. */
    private record Case(String name, Path model, List<Entry> inputs, List<Entry> outputs) {}

    @Test
    void outputs_areThoseOfPython() throws Exception {
        List<Case> cases = cases();
        assertThat(cases).hasSizeGreaterThan(FEWEST_CASES);
        SoftAssertions softly = new SoftAssertions();
        for (Case each : cases) {
            check(each, softly);
        }
        softly.assertAll();
    }

    private static void check(Case wanted, SoftAssertions softly) {
        OnnxModel model = OnnxModel.load(Fixtures.source(wanted.name, wanted.model), "cpu");
        InferRequest request = Fixtures.request(wanted.inputs.stream()
                .map(input -> Fixtures.tensor(input.name, input.type, input.raw(), input.shape.toArray()))
                .toArray(Tensor[]::new));
        List<Tensor> outputs = Fixtures.run(model, request);
        softly.assertThat(outputs).as(wanted.name).hasSameSizeAs(wanted.outputs);
        for (int i = 0; i < outputs.size(); i++) {
            Tensor output = outputs.get(i);
            Entry expected = wanted.outputs.get(i);
            String what = wanted.name + ", output " + expected.name;
            softly.assertThat(output.name()).as(what).isEqualTo(expected.name);
            softly.assertThat(output.dataType()).as(what).isEqualTo(expected.type);
            softly.assertThat(output.shape()).as(what).isEqualTo(expected.shape);
            softly.assertThat(ByteBufUtil.getBytes(output.data())).as(what).isEqualTo(expected.raw());
            output.release();
        }
        model.release();
    }

    private List<Case> cases() throws IOException, InterruptedException {
        String python = command(CONFORMANCE.resolve("install.sh").toString(), "onnxruntime")
                .lines()
                .filter(line -> line.startsWith("onnxruntime="))
                .map(line -> line.substring("onnxruntime=".length()) + "/bin/python")
                .findFirst()
                .orElseThrow();
        String version = command(
                python,
                CONFORMANCE.resolve("onnx/reference.py").toString(),
                "src/test/resources/models",
                folder.toString());
        assertThat(version).contains("onnxruntime=" + OrtRuntime.get().version());
        Map<String, Case> cases = new LinkedHashMap<>();
        for (String line : Files.readAllLines(folder.resolve("cases.tsv"))) {
            String[] parts = line.split("\t", -1);
            Case each = cases.computeIfAbsent(
                    parts[0], name -> new Case(name, Path.of(parts[1]), new ArrayList<>(), new ArrayList<>()));
            (parts[2].equals("in") ? each.inputs : each.outputs).add(entry(parts));
        }
        return List.copyOf(cases.values());
    }

    private Entry entry(String[] parts) {
        long[] extents = Stream.of(parts[5].split(","))
                .filter(extent -> !extent.isEmpty())
                .mapToLong(Long::parseLong)
                .toArray();
        return new Entry(parts[3], DataType.valueOf(parts[4]), Shape.of(extents), folder.resolve(parts[6]));
    }

    private String command(String... command) throws IOException, InterruptedException {
        Path output = folder.resolve("output.txt");
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
        builder.environment().put("PYTHONDONTWRITEBYTECODE", "1");
        Process process = builder.start();
        try {
            assertThat(process.waitFor(10, TimeUnit.MINUTES)).isTrue();
            assertThat(process.exitValue()).as(Files.readString(output)).isZero();
            return Files.readString(output);
        } finally {
            process.destroyForcibly();
        }
    }
}
