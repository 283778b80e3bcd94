package dev.isthmus.bench.local;

import dev.isthmus.local.LocalBackend;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A process that reports by how much its resident memory grows over many requests. Its heap has a fixed size, so that
 * only memory outside the heap can grow.
 */
final class RssProbe {
    static final String SAYS = "rss ";
    static final int REQUESTS = 100_000;
    static final List<String> FLAGS = List.of("-XX:+UseSerialGC", "-Xms128m", "-Xmx128m", "-XX:+AlwaysPreTouch");

    private static final int WARM_UP = 50_000;
    private static final List<Case> CASES =
            List.of(Case.DIGITS, Case.SILERO, new Case("identity_fp32", List.of(Case.floats("INPUT0", 16, 64))));

    private RssProbe() {}

    /**
     * The program.
     *
     * @param arguments the repository
     */
    public static void main(String[] arguments) throws Exception {
        try (LocalBackend backend = new Repository(Path.of(arguments[0])).open(2)) {
            List<RepeatedRequest> requests = new ArrayList<>();
            for (Case testCase : CASES) {
                requests.add(RepeatedRequest.of(backend, testCase));
            }
            ask(requests, WARM_UP);
            long before = kibibytes();
            ask(requests, REQUESTS);
            System.out.println(SAYS + before + " " + kibibytes());
            requests.forEach(RepeatedRequest::close);
        }
    }

    private static void ask(List<RepeatedRequest> requests, int times) {
        List<ClosedLoopClient> callers =
                requests.stream().map(ClosedLoopClient::new).toList();
        for (int done = 0; done < times; done += 100 * callers.size()) {
            callers.forEach(caller -> caller.run(100));
        }
    }

    /** VmRSS of this process. */
    private static long kibibytes() throws IOException {
        return Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(line -> line.startsWith("VmRSS:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
                .findFirst()
                .orElseThrow();
    }
}
