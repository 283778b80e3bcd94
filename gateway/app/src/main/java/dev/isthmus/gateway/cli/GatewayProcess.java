package dev.isthmus.gateway.cli;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.Version;
import dev.isthmus.gateway.logging.ProcessLog;
import dev.isthmus.gateway.memory.HeapTrimmer;
import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.reload.ConfigFile;
import dev.isthmus.gateway.reload.ConfigWatcher;
import dev.isthmus.gateway.reload.ProcessSignals;
import dev.isthmus.gateway.settings.AdminConfig;
import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.Listener;
import dev.isthmus.gateway.warm.WarmUp;
import dev.isthmus.oip.OipException;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The gateway as a process.
 *
 * @param files files and folders; none for the embedded models
 * @param host of the first listener; null for the configured one
 * @param port of the first listener; null for the configured one
 * @param watched whether the files are reloaded when they change
 */
record GatewayProcess(
        List<Path> files, @Nullable String host, @Nullable Integer port, boolean watched) {

    /** Starts the gateway and leaves it running; returns the exit code. */
    int run(Console console) {
        PrintWriter err = console.err();
        // Until there is a gateway to drain.
        ProcessSignals.onTermination(signal -> System.exit(0));
        try {
            start(console.out(), new WarmUp());
            return 0;
        } catch (ConfigException e) {
            e.problems().forEach(err::println);
        } catch (OipException e) {
            err.println("isthmus: " + e.message());
        } catch (BindException e) {
            err.println("isthmus: " + e.getMessage());
        } catch (Exception e) {
            err.println("isthmus: cannot start: " + FailureReason.of(e));
        }
        return IsthmusCommand.REFUSED;
    }

    Gateway start(PrintWriter out, WarmUp warmUp) throws Exception {
        if (files.isEmpty()) {
            DemoToken token = DemoToken.create();
            AdminConfig admin = DefaultValues.with(AdminConfig.DEFAULT, "port", 0, "tokenFile", token.file());
            GatewayConfig embedded = overridden(GatewayConfig.embedded().withAdmin(admin));
            Gateway gateway = Gateway.start(() -> embedded, warmUp::finished);
            announce(gateway, out);
            String console =
                    "http://" + gateway.adminAddress().map(GatewayProcess::text).orElseThrow();
            gateway.awaitLocalModels();
            new Demo(gateway.addresses().get(0), console + "/#/try?model=simple&token=" + token.text(), out).run();
            // After the demo, which would otherwise compete with it for the processor.
            warm(warmUp, gateway, out);
            return gateway;
        }
        CompletableFuture<ConfigWatcher> watcher = new CompletableFuture<>();
        ProcessSignals.onHangup(() -> watcher.thenAccept(ConfigWatcher::requestReload));
        ConfigFile source = new ConfigFile(files, this::overridden);
        Gateway gateway = Gateway.start(source, warmUp::finished);
        announce(gateway, out);
        warm(warmUp, gateway, out);
        watcher.complete(ConfigWatcher.start(source, gateway::reload, watched));
        HeapTrimmer.start(gateway::isServing, gateway::endedCalls);
        return gateway;
    }

    private static void warm(WarmUp warmUp, Gateway gateway, PrintWriter out) {
        warmUp.show(gateway.meters());
        GatewayConfig.HealthConfig health = gateway.config().health();
        Duration limit = health.warmUp();
        if (limit.isZero()) {
            warmUp.begin(limit, Duration.ZERO, () -> false, () -> {});
            return;
        }
        out.println("Warming up for at most " + limit.toSeconds()
                + " s; the gateway serves calls meanwhile, and reports itself ready afterwards.");
        warmUp.begin(
                limit,
                health.idleWarmUp(),
                gateway::isServing,
                () -> out.println(
                        gateway.ready() ? "Ready." : "The warm-up has finished; the gateway is not ready yet."));
    }

    private GatewayConfig overridden(GatewayConfig config) throws ConfigException {
        if (host == null && port == null) {
            return config;
        }
        Listener first = config.listeners().get(0);
        if (host != null && host.startsWith("/")) {
            throw new ConfigException(
                    List.of("isthmus: --host: a host name or IP address is expected, got '" + host + "'"));
        }
        Listener given = first.at(host == null ? first.host() : host, port == null ? first.port() : port);
        String exposed = given.exposure(config.authentication());
        if (exposed != null) {
            throw new ConfigException(List.of("isthmus: --host: " + exposed));
        }
        return config.withListener(given);
    }

    private static void announce(Gateway gateway, PrintWriter out) {
        ProcessTermination termination = new ProcessTermination(gateway);
        ProcessSignals.onTermination(termination::signal);
        Runtime.getRuntime().addShutdownHook(new Thread(termination::exit, "isthmus-shutdown"));
        for (InetSocketAddress address : gateway.addresses()) {
            out.println("Isthmus " + Version.current() + " serves REST and gRPC on " + text(address));
        }
        gateway.adminAddress().ifPresent(address -> out.println("Admin address: " + text(address)));
    }

    private static String text(InetSocketAddress address) {
        return address.getHostString() + ":" + address.getPort();
    }

    /**
     * The admin token of a gateway without a configuration.
     *
     * @param file with the token, which only its owner can read; deleted at the end of the process
     */
    record DemoToken(String text, Path file) {
        private static final int BYTES = 18;

        static DemoToken create() throws IOException {
            byte[] random = new byte[BYTES];
            new SecureRandom().nextBytes(random);
            String text = Base64.getUrlEncoder().withoutPadding().encodeToString(random);
            Path file = Files.createTempFile("isthmus", ".token");
            file.toFile().deleteOnExit();
            Files.writeString(file, text);
            return new DemoToken(text, file);
        }
    }

    /** The end of the process: the first signal drains the gateway and exits with 0, the second one ends it at once. */
    private static final class ProcessTermination {
        private static final Logger LOG = LoggerFactory.getLogger(ProcessTermination.class);
        private static final String SIGTERM = "SIGTERM";
        /** 128 and the number of the signal, as shells report a process that a signal ended. */
        private static final int KILLED_BY_TERM = 143;

        private static final int KILLED_BY_INT = 130;

        private final Gateway gateway;
        private final AtomicBoolean signalled = new AtomicBoolean();

        ProcessTermination(Gateway gateway) {
            this.gateway = gateway;
        }

        /** Handles SIGTERM or SIGINT; blocks until the process exits. */
        void signal(String name) {
            boolean term = name.equals(SIGTERM);
            if (signalled.getAndSet(true)) {
                LOG.warn("{}, the second signal: ending at once", name);
                ProcessLog.ofProcess().ifPresent(ProcessLog::flush);
                Runtime.getRuntime().halt(term ? KILLED_BY_TERM : KILLED_BY_INT);
            }
            // SIGINT comes from a terminal, where no load balancer watches the readiness.
            drain(name, term);
            System.exit(0);
        }

        /** Handles an exit for any other reason, or a signal if signals cannot be handled. */
        void exit() {
            drain("the process exits", true);
            // Signals have daemon threads: only this keeps the process until the last lines are written.
            gateway.close();
        }

        private void drain(String why, boolean delayed) {
            try {
                gateway.drain(why, delayed);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                gateway.stop(why + ", interrupted");
            }
        }
    }
}
