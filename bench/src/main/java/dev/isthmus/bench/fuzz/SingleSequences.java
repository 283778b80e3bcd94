package dev.isthmus.bench.fuzz;

import dev.isthmus.bench.process.BenchException;
import dev.isthmus.bench.process.Children;
import dev.isthmus.bench.process.Scratch;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Runs sequences one at a time, and reports those that leaked resources or used much CPU. */
final class SingleSequences {
    private static final int LIMIT_MILLIS = 8_000;
    /** CPU time on the event loops above which a sequence is reported, since a health check would be delayed. */
    private static final int MOST_LOOP_MILLIS = 250;

    private static final String LOOPS = "isthmus-loop";

    private SingleSequences() {}

    /**
     * Runs the sequences and prints findings.
     *
     * @param seeds of the sequences
     * @return whether there were no findings
     */
    static boolean play(Path home, long seed, Iterable<Long> seeds, PrintWriter out)
            throws IOException, InterruptedException, BenchException {
        List<Long> found = new ArrayList<>();
        try (Scratch scratch = new Scratch();
                Children children = new Children();
                FuzzSetup setup = new FuzzSetup(children, home, scratch.folder(), seed);
                Player player = new Player(setup.port())) {
            Map<String, Double> known = Map.of();
            int told = 0;
            for (long next : seeds) {
                Script script = Script.of(next);
                double before = setup.figures().cpuSecondsOf(LOOPS);
                player.play(script);
                Map<String, Double> left = setup.leftOver();
                for (int waited = 0; !left.equals(known) && waited < LIMIT_MILLIS; waited += 50) {
                    Thread.sleep(50);
                    left = setup.leftOver();
                }
                long busy = Math.round((setup.figures().cpuSecondsOf(LOOPS) - before) * 1_000);
                if (busy > MOST_LOOP_MILLIS) {
                    out.println(next + " (" + script.kind().text() + "): " + busy + " ms of CPU on the event loops");
                    out.flush();
                }
                List<String> errors = setup.log().errors();
                if (!left.equals(known) || errors.size() > told) {
                    known = left;
                    found.add(next);
                    out.println(next + " (" + script.kind().text() + "): " + left + " "
                            + errors.subList(told, errors.size()));
                    out.flush();
                    told = errors.size();
                }
            }
        }
        out.println(found.size() + " sequences leaked resources or logged an error");
        return found.isEmpty();
    }
}
