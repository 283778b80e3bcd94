package dev.isthmus.bench.local;

import ai.onnxruntime.OrtEnvironment;
import dev.isthmus.bench.process.Child;
import dev.isthmus.bench.process.Children;
import dev.isthmus.bench.process.ProjectFolder;
import dev.isthmus.bench.process.Scratch;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The command {@code bench/local}. Exits with status 1 if a goal was missed. */
@Command(
        name = "local",
        description =
                "Compares the local backend with ONNX Runtime in Python; with --http, with MLServer over the network.",
        mixinStandardHelpOptions = true)
public final class LocalBench implements Callable<Integer> {
    private static final Duration PROBE = Duration.ofMinutes(3);
    private static final int MOST_GROWTH = 10 * 1_024;

    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    @Mixin
    private final ProjectFolder project = new ProjectFolder();

    @Option(names = "--models", hidden = true, required = true)
    private Path models = Path.of(".");

    @Option(names = "--python", hidden = true, required = true)
    private Path python = Path.of(".");

    @Option(names = "--rounds", paramLabel = "N", description = "Repetitions of each measurement: ${DEFAULT-VALUE}.")
    private int rounds = 5;

    @Option(names = "--seconds", paramLabel = "S", description = "Duration of one measurement: ${DEFAULT-VALUE}.")
    private double seconds = 1;

    /**
     * The program.
     *
     * @param arguments see {@code bench/local --help}
     */
    public static void main(String[] arguments) {
        System.exit(new CommandLine(new LocalBench()).execute(arguments));
    }

    @Override
    public Integer call() throws Exception {
        PrintWriter out = spec.commandLine().getOut();
        try (Scratch scratch = new Scratch();
                Children children = new Children()) {
            Repository plain = Repository.of(scratch.folder().resolve("plain"), project.path(), models);
            Repository batching = Repository.batching(scratch.folder().resolve("batching"));
            Path inputs = Files.createDirectories(scratch.folder().resolve("inputs"));
            Path script = project.path().resolve("bench/python/ort_peer.py");
            Python peer = Python.start(children, python, script, inputs, Case.ALL, plain::onnx);
            Table table = new Table(out);
            new InProcessComparison(new Rounds(rounds, seconds), plain, batching, peer, table).run();
            growth(children, plain, table);
            out.println("ONNX Runtime " + OrtEnvironment.getEnvironment().getVersion() + " here, " + peer.version()
                    + " in Python");
            return table.met() ? 0 : 1;
        }
    }

    private void growth(Children children, Repository models, Table table) throws Exception {
        Child probe = children.java(
                "probe",
                RssProbe.FLAGS,
                System.getProperty("java.class.path"),
                RssProbe.class.getName(),
                List.of(models.folder().toString()));
        String[] says = probe.await(RssProbe.SAYS, PROBE).split(" ", -1);
        long grown = Long.parseLong(says[1]) - Long.parseLong(says[0]);
        table.goal(
                grown < MOST_GROWTH,
                "memory after 100,000 requests, KiB",
                says[1],
                says[0],
                String.format(Locale.ROOT, "%+,d", grown),
                "< 10 MiB");
    }
}
