package dev.isthmus.gateway.cli;

import java.io.PrintWriter;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The output streams of a command.
 *
 * @param terminal whether a person sees them on a terminal
 */
record Console(PrintWriter out, PrintWriter err, BooleanSupplier terminal) {

    /** @param console null where standard input or output is no terminal */
    private static boolean terminal(java.io.@Nullable Console console) {
        return console != null && console.isTerminal();
    }

    static Console standard() {
        return new Console(
                new PrintWriter(System.out, true, System.out.charset()),
                new PrintWriter(System.err, true, System.err.charset()),
                () -> terminal(System.console()));
    }
}
