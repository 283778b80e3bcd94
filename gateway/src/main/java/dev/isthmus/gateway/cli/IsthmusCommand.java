package dev.isthmus.gateway.cli;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.Version;
import dev.isthmus.gateway.config.ConfigException;
import dev.isthmus.gateway.config.ConfigLoader;
import dev.isthmus.gateway.config.GatewayConfig;
import dev.isthmus.oip.OipException;
import java.io.PrintWriter;
import java.net.BindException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The command {@code isthmus}; without a subcommand it serves. */
@Command(
        name = "isthmus",
        description = "One ingress in front of every server that speaks the Open Inference Protocol.",
        mixinStandardHelpOptions = true,
        versionProvider = IsthmusCommand.VersionText.class,
        subcommands = {
            IsthmusCommand.Serve.class,
            ConfigCommands.Validate.class,
            ConfigCommands.Explain.class,
            ConfigCommands.Diff.class,
            ConfigCommands.Schema.class
        })
public final class IsthmusCommand implements Callable<Integer> {
    private static final int REFUSED = 2;

    @Spec
    @SuppressWarnings("NullAway.Init") // set by picocli
    private CommandSpec spec;

    /**
     * The program.
     *
     * @param arguments as given; see {@code isthmus --help}
     */
    public static void main(String[] arguments) {
        int code = new CommandLine(new IsthmusCommand()).execute(arguments);
        if (code != 0) {
            System.exit(code);
        }
    }

    @Override
    public Integer call() {
        return serve(null, null, null, spec);
    }

    /** The version of the build. */
    static final class VersionText implements CommandLine.IVersionProvider {
        @Override
        public String[] getVersion() {
            return new String[] {"isthmus " + Version.current()};
        }
    }

    /** Runs the gateway until the process is told to stop. */
    @Command(name = "serve", description = "Runs the gateway.", mixinStandardHelpOptions = true)
    static final class Serve implements Callable<Integer> {
        @Spec
        @SuppressWarnings("NullAway.Init") // set by picocli
        private CommandSpec spec;

        @Option(
                names = {"-c", "--config"},
                paramLabel = "FILE",
                description = "The configuration. Without it the embedded models are served.")
        private @Nullable Path config;

        @Option(
                names = {"-p", "--port"},
                paramLabel = "N",
                description = "Listen on this port instead of the configured ones; 0 for any that is free.")
        private @Nullable Integer port;

        @Option(
                names = "--host",
                paramLabel = "HOST",
                description = "Listen on this address instead of the configured ones.")
        private @Nullable String host;

        @Override
        public Integer call() {
            return serve(config, host, port, spec);
        }
    }

    private static int serve(@Nullable Path file, @Nullable String host, @Nullable Integer port, CommandSpec spec) {
        PrintWriter err = spec.commandLine().getErr();
        try {
            GatewayConfig config = file == null ? GatewayConfig.embedded() : ConfigLoader.load(file);
            if (host != null || port != null) {
                GatewayConfig.Listener first = config.listeners().get(0);
                config = config.withListener(new GatewayConfig.Listener(
                        host == null ? first.host() : host, port == null ? first.port() : port));
            }
            Gateway gateway = Gateway.start(config);
            Runtime.getRuntime().addShutdownHook(new Thread(gateway::close, "isthmus-shutdown"));
            gateway.addresses()
                    .forEach(address -> spec.commandLine()
                            .getOut()
                            .println("Isthmus " + Version.current() + " takes REST and gRPC on "
                                    + address.getHostString() + ":" + address.getPort()));
            if (file == null) {
                new Demo(gateway.addresses().get(0), spec.commandLine().getOut()).run();
            }
            return 0;
        } catch (ConfigException e) {
            e.problems().forEach(err::println);
        } catch (OipException e) {
            err.println("isthmus: " + e.message());
        } catch (BindException e) {
            err.println("isthmus: the address cannot be listened on: " + e.getMessage());
        } catch (Exception e) {
            err.println("isthmus: " + e);
        }
        return REFUSED;
    }
}
