package dev.isthmus.gateway.cli;

import dev.isthmus.gateway.Version;
import java.io.PrintWriter;
import java.util.List;

/** Prints what was built from what, and which JVM runs it. */
final class VersionCommand extends NamedCommand {
    VersionCommand() {
        super(
                "version",
                List.of(),
                List.of(),
                "Prints version, commit, its time, and the JDKs that built it and run it.");
    }

    @Override
    public int run(Arguments arguments, Console console) {
        PrintWriter out = console.out();
        line(out, "version", Version.current());
        line(out, "commit", Version.commit());
        line(out, "time", Version.time());
        line(out, "built by JDK", Version.jdk());
        line(out, "runs on JDK", Runtime.version() + " (" + System.getProperty("java.vendor") + ")");
        return 0;
    }

    private static void line(PrintWriter out, String name, String value) {
        out.printf("%-14s%s%n", name, value);
    }
}
