package dev.isthmus.bench.faults;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Configurations that cannot be taken, under load: the old one serves, they are counted, and the next good one is taken. */
record BrokenScenario() implements Scenario {
    /** Each stays until it is counted, at most for so long. */
    private static final Duration LIMIT = Duration.ofSeconds(3);

    /** What becomes of the file. */
    private enum Form {
        MALFORMED,
        EMPTY,
        WRONG,
        HALF_WRITTEN,
        REMOVED,
        /** A folder in its place, which even root cannot read. */
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
    public Verdict play(Stage stage) throws ScenarioException, InterruptedException {
        Reloads reloads = new Reloads(stage.fleet().configs().adminPort());
        List<Form> silent = new ArrayList<>();
        List<Long> recovered = new ArrayList<>();
        long before = reloads.count("rejected");
        stage.open(() -> {
            spoil(stage, reloads, silent);
            recovered.add(recover(stage, reloads));
        });
        boolean back = recovered.contains(1L);
        return Verdict.of(
                stage.failed() == 0 && silent.isEmpty() && back,
                reloads.count("rejected") - before + " rejected",
                silent.isEmpty() ? "each form counted" : "not counted: " + silent,
                back ? "the next good one applied" : "the next good one not applied");
    }

    private void spoil(Stage stage, Reloads reloads, List<Form> silent) throws IOException, InterruptedException {
        String good = config(stage.fleet().configs());
        Duration slot = Duration.ofMillis(stage.options().millis(1.0 / (Form.values().length + 2)));
        for (Form form : Form.values()) {
            Thread.sleep(slot.toMillis() / 2);
            long before = reloads.count("rejected");
            make(form, stage.fleet(), good);
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

    /** How many configurations were applied by giving one that is good, and not the one from before. */
    private long recover(Stage stage, Reloads reloads) throws IOException, InterruptedException {
        long before = reloads.count("applied");
        Files.delete(stage.fleet().configFile());
        stage.fleet().configure(config(stage.fleet().configs()).replace("timeout: 8s", "timeout: 7s"));
        reloads.awaitMore("applied", before, LIMIT);
        return reloads.count("applied") - before;
    }
}
