package dev.isthmus.gateway.cli;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.warm.WarmUp;
import dev.isthmus.local.LocalBackend;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * Starts the gateway on free loopback ports, sends requests of all kinds and exits: the training run for the JDK's AOT
 * cache.
 */
final class TrainingRun extends Command {
    private static final String CONFIG = """
            listeners: [{host: 127.0.0.1, port: 0}]
            health: {warm_up: 0s}
            """;
    private static final String EMBEDDED = """
            local: {embedded_models: true}
            default_upstream: local
            """;
    /** For a distribution without local backend; nothing is there. */
    private static final String REMOTE = """
            upstreams: {none: {protocol: grpc, endpoints: ["127.0.0.1:1"]}}
            default_upstream: none
            """;

    private final Duration limit;

    /** @param limit of its warm-up */
    TrainingRun(Duration limit) {
        super(
                "train",
                List.of(),
                List.of(),
                "Starts, answers requests of its own and ends: the training run of the JDK's AOT cache.");
        this.limit = limit;
    }

    @Override
    boolean hidden() {
        return true;
    }

    @Override
    int run(Arguments arguments, Console console) throws Exception {
        Path file = Files.createTempFile("isthmus-train", ".yaml");
        try {
            Files.writeString(file, CONFIG + (LocalBackend.available() ? EMBEDDED : REMOTE));
            run(file, console.out());
        } finally {
            Files.delete(file);
        }
        return 0;
    }

    /** Starts it as {@code serve} does, so that its classes are in the cache. */
    private void run(Path file, PrintWriter out) throws Exception {
        Arguments given = Arguments.of(
                new ServeCommand(), List.of("--config", file.toString(), "--host", "127.0.0.1", "--no-watch"));
        WarmUp warmUp = new WarmUp();
        try (Gateway gateway = ServeCommand.serving(given).start(out, warmUp)) {
            if (LocalBackend.available()) {
                gateway.awaitLocalModels();
                new Demo(gateway.addresses().get(0), "", new PrintWriter(Writer.nullWriter())).run();
            }
            warmUp.run(limit);
        }
    }
}
