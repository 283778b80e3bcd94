package dev.isthmus.gateway.cli;

import java.io.PrintWriter;

/** Where a command writes. */
record Console(PrintWriter out, PrintWriter err) {

    /** That of the process. */
    static Console standard() {
        return new Console(
                new PrintWriter(System.out, true, System.out.charset()),
                new PrintWriter(System.err, true, System.err.charset()));
    }
}
