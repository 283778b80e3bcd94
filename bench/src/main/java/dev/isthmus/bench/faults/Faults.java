package dev.isthmus.bench.faults;

import dev.isthmus.gateway.net.Transport;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** The command {@code bench/faults}. Its exit status is 1 where a figure was missed. */
@Command(
        name = "faults",
        description = "Plays faults under load against a gateway and two upstreams, all on loopback.",
        mixinStandardHelpOptions = true)
public final class Faults implements Callable<Integer> {
    private static final List<Scenario> SCENARIOS = List.of(
            new KillScenario(true),
            new KillScenario(false),
            new StopScenario(true),
            new StopScenario(false),
            new ReloadScenario(),
            new BrokenScenario(),
            new StormScenario(),
            new SplitScenario());

    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    @Option(
            names = "--home",
            paramLabel = "DIR",
            description = "The project, with the packaged gateway.",
            hidden = true)
    private Path home = Path.of(".");

    @Option(
            names = "--seconds",
            paramLabel = "N",
            description = "How long the load of a scenario lasts: 20, or 5 with --short.")
    private @Nullable Integer seconds;

    @Option(names = "--rate", paramLabel = "N", description = "Requests a second: 1000, or 500 with --short.")
    private @Nullable Integer rate;

    @Option(names = "--short", description = "A form of each scenario that takes some 8 s.")
    private boolean brief;

    @Option(names = "--front", paramLabel = "grpc|rest", description = "What clients speak; both in turn by default.")
    private List<Front> fronts = List.of(Front.values());

    @Parameters(
            paramLabel = "SCENARIO",
            description = "kill, kill-default, stop, stop-default, reload, broken, storm, split; all by default.")
    private List<String> names = List.of();

    /**
     * The program.
     *
     * @param arguments see {@code bench/faults --help}
     */
    public static void main(String[] arguments) {
        System.exit(new CommandLine(new Faults())
                .setCaseInsensitiveEnumValuesAllowed(true)
                .execute(arguments));
    }

    @Override
    public Integer call() throws Exception {
        Options options = options();
        List<Scenario> chosen = chosen();
        PrintWriter out = spec.commandLine().getOut();
        EventLoopGroup loops =
                new MultiThreadIoEventLoopGroup(1, Transport.best().ioHandlerFactory());
        try {
            Play play = new Play(options, loops.next());
            out.print(Row.heading());
            boolean met = true;
            for (Scenario scenario : chosen) {
                for (Front front : fronts) {
                    out.flush();
                    Row row = play.play(scenario, front);
                    out.print(row.line());
                    met &= row.verdict().result() != Verdict.Result.MISSED;
                }
            }
            out.flush();
            return met ? 0 : 1;
        } finally {
            loops.shutdownGracefully();
        }
    }

    private Options options() {
        int load = seconds != null ? seconds : brief ? 5 : 20;
        int perSecond = rate != null ? rate : brief ? 500 : 1_000;
        try {
            return new Options(home.toAbsolutePath().normalize(), load, perSecond, brief);
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), String.valueOf(e.getMessage()));
        }
    }

    private List<Scenario> chosen() {
        if (names.isEmpty()) {
            return SCENARIOS;
        }
        Map<String, Scenario> known = new LinkedHashMap<>();
        SCENARIOS.forEach(scenario -> known.put(scenario.name(), scenario));
        return names.stream().map(name -> known(known, name)).toList();
    }

    private Scenario known(Map<String, Scenario> known, String name) {
        Scenario scenario = known.get(name);
        if (scenario == null) {
            throw new ParameterException(
                    spec.commandLine(), "no scenario is named '" + name + "'; expected are " + known.keySet());
        }
        return scenario;
    }
}
