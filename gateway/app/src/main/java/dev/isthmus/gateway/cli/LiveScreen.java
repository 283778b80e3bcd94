package dev.isthmus.gateway.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Shows changing text on a terminal's alternate screen, until it is closed: what was on the terminal before appears
 * again then, also if the process is interrupted.
 */
final class LiveScreen implements AutoCloseable {
    private static final String BEGIN = "\033[?1049h\033[?25l";
    private static final String HOME = "\033[H";
    private static final String END_OF_LINE = "\033[K\r\n";
    private static final String CLEAR_BELOW = "\033[J";
    private static final String END = "\033[?25h\033[?1049l";
    private static final int ROWS = 24;
    private static final int COLUMNS = 80;

    private final PrintWriter out;
    private final Thread atEnd = new Thread(this::restore, "isthmus-terminal");
    private boolean restored;

    LiveScreen(PrintWriter out) {
        this.out = out;
        Runtime.getRuntime().addShutdownHook(atEnd);
        out.print(BEGIN);
        out.flush();
    }

    /** Replaces the text; what does not fit is cut. */
    synchronized void show(List<String> lines) {
        if (restored) {
            return;
        }
        int[] size = size();
        StringBuilder frame = new StringBuilder(HOME);
        for (String line : lines.subList(0, Math.min(lines.size(), size[0] - 1))) {
            frame.append(line, 0, Math.min(line.length(), size[1])).append(END_OF_LINE);
        }
        out.print(frame.append(CLEAR_BELOW));
        out.flush();
    }

    /** Rows and columns, as the terminal has them now. */
    private static int[] size() {
        try {
            Process stty = new ProcessBuilder("stty", "size")
                    .redirectInput(ProcessBuilder.Redirect.INHERIT)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            String text = new String(stty.getInputStream().readAllBytes(), StandardCharsets.US_ASCII).strip();
            if (text.matches("[1-9][0-9]{0,4} [1-9][0-9]{0,4}")) {
                String[] parts = text.split(" ", 2);
                return new int[] {Integer.parseInt(parts[0]), Integer.parseInt(parts[1])};
            }
        } catch (IOException e) {
            // No such command: the usual size.
        }
        return new int[] {ROWS, COLUMNS};
    }

    private synchronized void restore() {
        if (!restored) {
            restored = true;
            out.print(END);
            out.flush();
        }
    }

    @Override
    public void close() {
        restore();
        try {
            Runtime.getRuntime().removeShutdownHook(atEnd);
        } catch (IllegalStateException e) {
            // The process ends, and the hook runs.
        }
    }
}
