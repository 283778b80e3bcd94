package dev.isthmus.gateway.cli;

import java.util.List;
import org.apache.commons.cli.Option;

/** Runs the gateway until the process is stopped. */
final class ServeCommand implements Command {
    private static final Option CONFIG = Option.builder("c")
            .longOpt("config")
            .hasArg()
            .argName("FILE")
            .desc("The configuration. Without it the embedded models are served.")
            .get();
    private static final Option PORT = Option.builder("p")
            .longOpt("port")
            .hasArg()
            .argName("N")
            .desc("Listen on this port instead of the configured ones; 0 for any that is free.")
            .get();
    private static final Option HOST = Option.builder()
            .longOpt("host")
            .hasArg()
            .argName("HOST")
            .desc("Listen on this address instead of the configured ones.")
            .get();
    private static final Option UNWATCHED = Option.builder()
            .longOpt("no-watch")
            .desc("Do not reload the configuration when its file changes; SIGHUP still does.")
            .get();

    @Override
    public String name() {
        return "serve";
    }

    @Override
    public List<String> description() {
        return List.of("Runs the gateway.");
    }

    @Override
    public List<Option> options() {
        return List.of(CONFIG, PORT, HOST, UNWATCHED);
    }

    @Override
    public int run(Arguments arguments, Console console) throws UsageException {
        return serving(arguments).run(console);
    }

    static GatewayProcess serving(Arguments arguments) throws UsageException {
        return new GatewayProcess(
                arguments.file(CONFIG), arguments.text(HOST), arguments.port(PORT), !arguments.has(UNWATCHED));
    }
}
