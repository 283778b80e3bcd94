package dev.isthmus.bench.local;

import ai.onnxruntime.OrtEnvironment;
import dev.isthmus.bench.process.Child;
import dev.isthmus.bench.process.Children;
import dev.isthmus.bench.process.ProjectFolder;
import dev.isthmus.bench.process.Scratch;
import dev.isthmus.gateway.net.Transport;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The command {@code bench/local}. Exits with status 1 if a goal was missed. */
@Command(
        name = "local",
        description = "Compares the local backend with ONNX Runtime in Python, or with MLServer over the network.",
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

    @Option(names = "--mlserver", hidden = true)
    private @Nullable Path mlserver;

    @Option(names = "--http", description = "Compare over the network with MLServer; otherwise in process with Python.")
    private boolean http;

    @Option(names = "--rounds", paramLabel = "N", description = "Repetitions of each measurement: 5, or 3 with --http.")
    private @Nullable Integer rounds;

    @Option(names = "--seconds", paramLabel = "S", description = "Duration of one measurement: 1, or 2 with --http.")
    private @Nullable Double seconds;

    @Option(
            names = "--workers",
            paramLabel = "N",
            description = "Processes of MLServer that run models; 0, the default: only its main process.")
    private int workers;

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
            return (http
                                    ? network(out, children, scratch.folder(), plain)
                                    : inProcess(out, children, scratch.folder(), plain))
                            .met()
                    ? 0
                    : 1;
        }
    }

    private Rounds rounds(int usualRounds, double usualSeconds) {
        return new Rounds(rounds == null ? usualRounds : rounds, seconds == null ? usualSeconds : seconds);
    }

    private Table inProcess(PrintWriter out, Children children, Path folder, Repository plain) throws Exception {
        Repository batching = Repository.batching(folder.resolve("batching"));
        Path inputs = Files.createDirectories(folder.resolve("inputs"));
        Path script = project.path().resolve("bench/python/ort_peer.py");
        Python peer = Python.start(children, python, script, inputs, Case.ALL, plain::onnx);
        Table table =
                new Table(out, List.of(48, 18, 18, 10, 12, 7), "measure", "Isthmus", "Python or bare", "ratio", "goal");
        new InProcessComparison(rounds(5, 1), plain, batching, peer, table).run();
        growth(children, plain, table);
        out.println("ONNX Runtime " + OrtEnvironment.getEnvironment().getVersion() + " here, " + peer.version()
                + " in Python");
        return table;
    }

    private Table network(PrintWriter out, Children children, Path folder, Repository plain) throws Exception {
        if (mlserver == null) {
            throw new ParameterException(spec.commandLine(), "--http requires --mlserver");
        }
        Path packages = Files.createDirectories(folder.resolve("packages"));
        Files.createSymbolicLink(packages.resolve("onnxruntime"), packageOf(python));
        EventLoopGroup loops =
                new MultiThreadIoEventLoopGroup(1, Transport.best().ioHandlerFactory());
        try {
            Server ours = Server.gateway(children, project.path(), plain, folder);
            Server theirs = Server.mlserver(
                    children,
                    mlserver,
                    packages + File.pathSeparator + project.path().resolve("bench/python"),
                    plain,
                    folder.resolve("mlserver"),
                    workers);
            Table table = new Table(
                    out,
                    List.of(36, 32, 32, 16, 13, 7),
                    "measure",
                    "Isthmus, ms p50 / p99",
                    "MLServer, ms p50 / p99",
                    "ratio",
                    "goal");
            new NetworkComparison(rounds(3, 2), ours, theirs, loops.next(), table).run();
            return table;
        } finally {
            loops.shutdownGracefully();
        }
    }

    /** The directory of ONNX Runtime in the virtual environment of this interpreter. */
    private static Path packageOf(Path python) throws IOException {
        try (Stream<Path> versions = Files.list(python.resolve("../../lib").normalize())) {
            return versions.map(each -> each.resolve("site-packages/onnxruntime"))
                    .filter(Files::isDirectory)
                    .findFirst()
                    .map(Path::toAbsolutePath)
                    .orElseThrow(() -> new IOException(python + ": no onnxruntime in its environment"));
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
