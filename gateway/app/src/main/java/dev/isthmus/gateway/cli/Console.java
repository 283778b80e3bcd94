package dev.isthmus.gateway.cli;

import java.io.PrintWriter;
import java.util.Objects;
import java.util.function.BooleanSupplier;

/**
 * The output streams of a command.
 *
 * @param terminal whether a person sees them on a terminal
 */
record Console(PrintWriter out, PrintWriter err, BooleanSupplier terminal) {

    /** Not on a terminal. */
    Console(PrintWriter out, PrintWriter err) {
        this(out, err, () -> false);
    }

    /** Those of the process. */
    static Console standard() {
        return new Console(
                new PrintWriter(System.out, true, System.out.charset()),
                new PrintWriter(System.err, true, System.err.charset()),
                () -> Objects.requireNonNull(System.console()).isTerminal());
    }
}
