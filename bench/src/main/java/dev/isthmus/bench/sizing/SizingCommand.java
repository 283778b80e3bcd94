package dev.isthmus.bench.sizing;

import dev.isthmus.bench.process.BenchException;
import dev.isthmus.bench.process.Children;
import dev.isthmus.bench.process.ProjectFolder;
import dev.isthmus.bench.process.Scratch;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.function.Function;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The command {@code bench/fleet}. */
@Command(
        name = "fleet",
        description = "Measures a gateway in front of a large fleet, beside one with one model; all on loopback.",
        mixinStandardHelpOptions = true)
public final class SizingCommand implements Callable<Integer> {
    /** Models that get calls, one of each kind. */
    private static final Map<String, Integer> CALLED = new TreeMap<>(
            Map.of("by name", 0, "under another name", 6, "with two targets", 7, "by a pattern", 8, "discovered", 9));

    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    @Mixin
    private final ProjectFolder project = new ProjectFolder();

    @Option(names = "--models", paramLabel = "N", description = "Models of the fleet: ${DEFAULT-VALUE}.")
    private int models = 1_000;

    @Option(names = "--servers", paramLabel = "N", description = "Servers of the fleet: ${DEFAULT-VALUE}.")
    private int servers = 200;

    @Option(
            names = "--upstreams",
            paramLabel = "N",
            description = "Upstreams, each with as many of the servers and models: ${DEFAULT-VALUE}.")
    private int upstreams = 50;

    @Option(
            names = "--idle",
            paramLabel = "SECONDS",
            description = "How long the idle gateway is observed: ${DEFAULT-VALUE}.")
    private int idleSeconds = 30;

    @Option(
            names = "--settle",
            paramLabel = "SECONDS",
            description = "Time before it, for the compilers: ${DEFAULT-VALUE}.")
    private int settleSeconds = 30;

    @Option(names = "--reloads", paramLabel = "N", description = "Number of reloads: ${DEFAULT-VALUE}.")
    private int reloads = 5;

    @Option(
            names = "--rounds",
            paramLabel = "N",
            description = "Rounds of calls of each kind, to the two gateways in turn: ${DEFAULT-VALUE}. 0: none.")
    private int rounds = 5;

    @Option(names = "--calls", paramLabel = "N", description = "Calls in a round: ${DEFAULT-VALUE}.")
    private int calls = 50_000;

    @Option(
            names = "--settings",
            paramLabel = "YAML",
            description = "Further sections of both configurations: ${DEFAULT-VALUE}.")
    private String settings = "health: {server_ready: models}";

    /**
     * The program.
     *
     * @param arguments see {@code bench/fleet --help}
     */
    public static void main(String[] arguments) {
        System.exit(new CommandLine(new SizingCommand()).execute(arguments));
    }

    @Override
    public Integer call() throws Exception {
        Path program = project.path().resolve("gateway/app/target/dist/bin/isthmus");
        run(config -> packaged(program, config));
        return 0;
    }

    private static ProcessBuilder packaged(Path program, Path config) {
        ProcessBuilder gateway =
                new ProcessBuilder(program.toString(), "serve", "--no-watch", "--config", config.toString());
        gateway.environment().put("JAVA_HOME", System.getProperty("java.home"));
        return gateway;
    }

    /** @param program starts a gateway with a configuration file */
    void run(Function<Path, ProcessBuilder> program) throws IOException, InterruptedException, BenchException {
        PrintWriter out = spec.commandLine().getOut();
        FleetShape large = new FleetShape(models, servers, upstreams);
        FleetShape small = new FleetShape(1, servers / upstreams, 1);
        try (Scratch scratch = new Scratch();
                Children children = new Children();
                SizedGateway fleet = new SizedGateway(children, scratch.folder(), large, settings);
                SizedGateway one = new SizedGateway(children, scratch.folder(), small, settings)) {
            for (SizedGateway gateway : List.of(fleet, one)) {
                new SizingRun(gateway, settleSeconds, idleSeconds, reloads, out)
                        .measure(gateway.start(children, program));
            }
            compare(new CallCost(children, scratch.folder(), calls), one, fleet, out);
        }
    }

    private void compare(CallCost cost, SizedGateway one, SizedGateway fleet, PrintWriter out)
            throws IOException, InterruptedException, BenchException {
        if (rounds == 0) {
            return;
        }
        out.printf("%n| CPU of a small gRPC call, µs, median | one model | among %,d |%n|---|---|---|%n", models);
        for (Map.Entry<String, Integer> called : CALLED.entrySet()) {
            String model = fleet.shape().client(Math.min(models - 1, called.getValue()));
            double[] alone = new double[rounds];
            double[] among = new double[rounds];
            // The first round warms up.
            for (int round = -1; round < rounds; round++) {
                double first = cost.micros(one, one.shape().client(0));
                double second = cost.micros(fleet, model);
                alone[Math.max(round, 0)] = first;
                among[Math.max(round, 0)] = second;
            }
            double before = SizingRun.median(alone);
            double after = SizingRun.median(among);
            out.printf(
                    Locale.ROOT,
                    "| %s | %.1f | %.1f (%+.0f%%) |%n",
                    called.getKey(),
                    before,
                    after,
                    100 * (after / before - 1));
            out.flush();
        }
    }
}
