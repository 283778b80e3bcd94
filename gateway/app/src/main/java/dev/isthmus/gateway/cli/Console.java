package dev.isthmus.gateway.cli;

import java.io.PrintWriter;

/** The output streams of a command. */
record Console(PrintWriter out, PrintWriter err) {

    /** Those of the process. */
    static Console standard() {
        return new Console(
                new PrintWriter(System.out, true, System.out.charset()),
                new PrintWriter(System.err, true, System.err.charset()));
    }
}
