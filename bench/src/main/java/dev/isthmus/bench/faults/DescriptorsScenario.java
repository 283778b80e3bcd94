package dev.isthmus.bench.faults;

import dev.isthmus.bench.process.BenchException;
import dev.isthmus.bench.process.Loopback;
import dev.isthmus.bench.process.ProcessFigures;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The gateway may open few files, and idle clients open as many connections. */
record DescriptorsScenario() implements Scenario {
    private static final int FILES = 300;
    /** Limit on what the gateway may use more of one core than before, so that it does not spin. */
    private static final double MAX_MORE = 0.2;

    @Override
    public String name() {
        return "descriptors";
    }

    @Override
    public String config(GatewayConfigs configs) {
        return configs.replicas();
    }

    @Override
    public int maxFiles() {
        return FILES;
    }

    @Override
    public Verdict play(ScenarioContext context) throws IOException, BenchException, InterruptedException {
        int port = context.fleet().ports().getFirst();
        ProcessFigures gateway = new ProcessFigures(context.fleet().gatewayPid());
        double[] cores = new double[2];
        context.open(() -> {
            cores[0] = cores(gateway, context.options().millis(0.3));
            List<Socket> idle = new ArrayList<>();
            try {
                for (int i = 0; i < FILES; i++) {
                    idle.add(new Socket(InetAddress.getLoopbackAddress(), port));
                }
                cores[1] = cores(gateway, context.options().millis(0.3));
            } finally {
                for (Socket each : idle) {
                    each.close();
                }
            }
        });
        Loopback.get(port, "/v2/health/live");
        boolean spins = !context.options().brief() && cores[1] - cores[0] > MAX_MORE;
        // A connection that the client opens meanwhile is refused, and its request was not sent.
        boolean served = context.tally().failures().stream()
                .allMatch(each -> each.outcome().kind() == Outcome.Kind.RESET);
        return Verdict.of(
                served && !spins,
                String.format(Locale.ROOT, "%.2f of a core before, %.2f meanwhile", cores[0], cores[1]));
    }

    private static double cores(ProcessFigures process, long millis) throws InterruptedException {
        double before = process.cpuSeconds();
        long start = System.nanoTime();
        Thread.sleep(millis);
        return (process.cpuSeconds() - before) / ((System.nanoTime() - start) / 1e9);
    }
}
