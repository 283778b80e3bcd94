package dev.isthmus.bench.faults;

import dev.isthmus.bench.attack.Attack;
import dev.isthmus.bench.attack.Attacks;
import dev.isthmus.bench.process.ProjectFolder;
import dev.isthmus.gateway.net.Transport;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** The command {@code bench/faults}. Exits with status 1 if a limit was missed. */
@Command(
        name = "faults",
        description = "Runs faults under load and attacks against a gateway and its upstreams, all on loopback.",
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
            new SlowScenario(false),
            new SlowScenario(true),
            new SplitScenario(),
            new DrainScenario(false),
            new DrainScenario(true),
            new UpstreamDrainScenario(false),
            new UpstreamDrainScenario(true),
            new CertificatesScenario(),
            new DescriptorsScenario(),
            new PodsScenario());

    /** The name that selects all attacks. */
    private static final String ATTACKS = "attacks";

    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    @Mixin
    private final ProjectFolder project = new ProjectFolder();

    @Option(
            names = "--seconds",
            paramLabel = "N",
            description = "Duration of a scenario's load: 20, or 5 with --short.")
    private @Nullable Integer seconds;

    @Option(names = "--rate", paramLabel = "N", description = "Requests per second: 1000, or 500 with --short.")
    private @Nullable Integer rate;

    @Option(names = "--short", description = "A short form of each scenario, of about 8 s.")
    private boolean brief;

    @Option(names = "--front", paramLabel = "grpc|rest", description = "Protocol of clients; both in turn by default.")
    private List<ClientProtocol> protocols = List.of(ClientProtocol.values());

    @Option(
            names = "--on",
            paramLabel = "small|default",
            description =
                    "How much memory an attacked gateway has: 256 MiB of each, or as the JVM has it; both in turn by"
                            + " default, small with --short.")
    private List<AttackedProxy> defenders = List.of();

    @Option(names = "--peers", description = "Also attack Envoy, nginx and HAProxy, if installed.")
    private boolean peers;

    @Parameters(
            paramLabel = "SCENARIO",
            description =
                    "kill, kill-default, stop, stop-default, reload, broken, storm, split, drain, rolling, drain-upstream,"
                            + " drain-upstream-rest, certificates, pods, attacks, or an attack by its name (docs/internals/faults.md); all by default.")
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
        List<Scenario> chosen =
                SCENARIOS.stream().filter(scenario -> chosen(scenario.name())).toList();
        List<Attack> attacks = Attacks.ALL.stream()
                .filter(attack -> names.contains(ATTACKS) || chosen(attack.name()))
                .toList();
        known();
        PrintWriter out = spec.commandLine().getOut();
        EventLoopGroup loops =
                new MultiThreadIoEventLoopGroup(1, Transport.best().ioHandlerFactory());
        try {
            boolean met = chosen.isEmpty() || play(new ScenarioRunner(options, loops.next()), chosen, out);
            if (!attacks.isEmpty()) {
                out.print(AttackRow.heading());
                met &= attack(options, loops.next(), attacks, out);
            }
            return met ? 0 : 1;
        } finally {
            loops.shutdownGracefully();
        }
    }

    private boolean play(ScenarioRunner play, List<Scenario> chosen, PrintWriter out)
            throws IOException, InterruptedException {
        out.print(Row.heading());
        boolean met = true;
        for (Scenario scenario : chosen) {
            for (ClientProtocol protocol : protocols) {
                out.flush();
                Row row = play.play(scenario, protocol);
                out.print(row.line());
                met &= row.verdict().result() != Verdict.Result.MISSED;
            }
        }
        out.flush();
        return met;
    }

    private boolean attack(Options options, EventLoop loop, List<Attack> attacks, PrintWriter out)
            throws IOException, InterruptedException {
        int window = brief ? 250 : 5_000;
        AttackRunner play = new AttackRunner(options.home(), loop, brief, window, out);
        boolean met = true;
        for (AttackedProxy defender : AttackedProxy.values()) {
            boolean chosen = !defender.isthmus()
                    ? peers
                    : defenders.isEmpty() ? !brief || defender == AttackedProxy.SMALL : defenders.contains(defender);
            if (chosen && !defender.installed()) {
                out.println(defender.label() + " is not installed and was skipped");
            } else if (chosen) {
                met &= play.play(
                        defender,
                        attacks.stream()
                                .filter(attack -> defender.isthmus() || attack.clientSide())
                                .toList());
            }
        }
        return met;
    }

    private Options options() {
        int load = seconds != null ? seconds : brief ? 5 : 20;
        int perSecond = rate != null ? rate : brief ? 500 : 1_000;
        try {
            return new Options(project.path(), load, perSecond, brief);
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), String.valueOf(e.getMessage()));
        }
    }

    private boolean chosen(String name) {
        return names.isEmpty() || names.contains(name);
    }

    private void known() {
        List<String> known = Stream.of(
                        SCENARIOS.stream().map(Scenario::name),
                        Attacks.ALL.stream().map(Attack::name),
                        Stream.of(ATTACKS))
                .flatMap(Function.identity())
                .toList();
        for (String name : names) {
            if (!known.contains(name)) {
                throw new ParameterException(
                        spec.commandLine(), "unknown scenario '" + name + "'; expected one of " + known);
            }
        }
    }
}
