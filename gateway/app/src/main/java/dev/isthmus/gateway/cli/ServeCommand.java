package dev.isthmus.gateway.cli;

import java.util.List;
import org.apache.commons.cli.Option;

/** Runs the gateway until the process is stopped. */
final class ServeCommand extends Command {
    /** Of the commands that take a configuration as a gateway does. */
    static final Option CONFIG = CommandOptions.valued(
            "c",
            "config",
            "FILE",
            "The configuration: a file, or a folder of *.yaml. May be given several times; together they are one "
                    + "configuration. Without it the embedded models are served.");

    private static final Option PORT = CommandOptions.valued(
            "p", "port", "N", "Port of the first listener, instead of the configured one; 0 for any that is free.");
    private static final Option HOST =
            CommandOptions.valued("host", "HOST", "Address of the first listener, instead of the configured one.");
    private static final Option UNWATCHED = CommandOptions.flag(
            "no-watch", "Do not reload the configuration when its files change; SIGHUP still does.");

    ServeCommand() {
        super("serve", List.of(), List.of(CONFIG, PORT, HOST, UNWATCHED), "Runs the gateway.");
    }

    @Override
    int run(Arguments arguments, Console console) throws UsageException {
        return serving(arguments).run(console);
    }

    static GatewayProcess serving(Arguments arguments) throws UsageException {
        return new GatewayProcess(
                arguments.files(CONFIG),
                arguments.text(HOST),
                arguments.number(PORT, 0, CommandOptions.MAX_PORT),
                !arguments.has(UNWATCHED));
    }
}
