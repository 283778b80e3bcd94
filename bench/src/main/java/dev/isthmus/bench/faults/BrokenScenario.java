package dev.isthmus.bench.faults;

import dev.isthmus.bench.process.BenchException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/** Invalid configurations under load: the old one stays active, each is counted, and the next valid one is applied. */
record BrokenScenario() implements Scenario {
    /** Each stays until it is counted, for at most this long, and then a little longer. */
    private static final Duration LIMIT = Duration.ofSeconds(2);

    /** Ways to break the file. */
    private enum Form {
        MALFORMED,
        EMPTY,
        WRONG,
        HALF_WRITTEN,
        REMOVED,
        /** A directory in its place, which even root cannot read. */
        UNREADABLE
    }

    @Override
    public String name() {
        return "broken";
    }

    @Override
    public String config(GatewayConfigs configs) {
        return configs.withAdmin(configs.replicas());
    }

    @Override
    public Verdict play(ScenarioContext context) throws BenchException, InterruptedException {
        Reloads reloads = Reloads.ofConfiguration(context.fleet().configs().adminPort());
        List<Form> silent = new ArrayList<>();
        List<Long> recovered = new ArrayList<>();
        long end = System.nanoTime()
                + TimeUnit.MILLISECONDS.toNanos(context.options().millis(1));
        AtomicBoolean loaded = new AtomicBoolean();
        long before = reloads.count("rejected");
        context.open(() -> {
            spoil(context, reloads, silent);
            loaded.set(System.nanoTime() < end);
            recovered.add(recover(context, reloads));
        });
        boolean back = recovered.contains(1L);
        return Verdict.of(
                context.failed() == 0 && silent.isEmpty() && back && loaded.get(),
                reloads.count("rejected") - before + " rejected",
                silent.isEmpty() ? "each form counted" : "not counted: " + silent,
                back ? "the next good one applied" : "the next good one not applied",
                loaded.get() ? "all under load" : "the load ended before the last form");
    }

    private void spoil(ScenarioContext context, Reloads reloads, List<Form> silent)
            throws IOException, InterruptedException {
        String good = config(context.fleet().configs());
        Duration between = Duration.ofMillis(context.options().millis(0.5 / Form.values().length));
        for (Form form : Form.values()) {
            Thread.sleep(between.toMillis());
            long before = reloads.count("rejected");
            make(form, context.fleet(), good);
            if (!reloads.awaitMore("rejected", before, LIMIT)) {
                silent.add(form);
            }
        }
    }

    private static void make(Form form, Fleet fleet, String good) throws IOException {
        Path file = fleet.configFile();
        switch (form) {
            case MALFORMED -> fleet.configure(good + "models: [");
            case EMPTY -> fleet.configure("");
            case WRONG -> fleet.configure(good.replace("upstream: fleet", "upstream: nowhere"));
            case HALF_WRITTEN -> Files.writeString(file, good.substring(0, good.length() / 2));
            case REMOVED -> Files.delete(file);
            case UNREADABLE -> Files.createDirectory(file);
        }
    }

    /** The number of configurations applied after writing a new valid one. */
    private long recover(ScenarioContext context, Reloads reloads) throws IOException, InterruptedException {
        long before = reloads.count("applied");
        Files.delete(context.fleet().configFile());
        context.fleet().configure(config(context.fleet().configs()).replace("timeout: 8s", "timeout: 7s"));
        reloads.awaitMore("applied", before, LIMIT);
        return reloads.count("applied") - before;
    }
}
