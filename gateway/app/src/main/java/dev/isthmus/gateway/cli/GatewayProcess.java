package dev.isthmus.gateway.cli;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.Version;
import dev.isthmus.gateway.reload.ConfigFile;
import dev.isthmus.gateway.reload.ConfigWatcher;
import dev.isthmus.gateway.reload.ProcessSignals;
import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.Listener;
import dev.isthmus.gateway.warm.WarmUp;
import dev.isthmus.oip.OipException;
import java.io.PrintWriter;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The gateway as a process.
 *
 * @param file null for the embedded models
 * @param host put in place of the configured ones; null for none
 * @param port put in place of the configured ones; null for none
 * @param watched whether the file is loaded again when it changes
 */
record GatewayProcess(
        @Nullable Path file,
        @Nullable String host,
        @Nullable Integer port,
        boolean watched) {

    /** Starts it and leaves it running; returns the exit code. */
    int run(Console console) {
        PrintWriter err = console.err();
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
            err.println("isthmus: cannot start: " + e);
        }
        return IsthmusCommand.REFUSED;
    }

    /** Starts it and leaves it running. */
    Gateway start(PrintWriter out, WarmUp warmUp) throws Exception {
        if (file == null) {
            GatewayConfig embedded = overridden(GatewayConfig.embedded());
            Gateway gateway = Gateway.start(() -> embedded, warmUp::over);
            announce(gateway, out);
            new Demo(gateway.addresses().get(0), out).run();
            // Not before the demo, which would have to share the cores with it.
            warm(warmUp, gateway, out);
            return gateway;
        }
        ConfigFile source = new ConfigFile(file, this::overridden);
        Gateway gateway = Gateway.start(source, warmUp::over);
        announce(gateway, out);
        warm(warmUp, gateway, out);
        ConfigWatcher watch = ConfigWatcher.start(source, gateway::reload, watched);
        ProcessSignals.onHangup(watch::ask);
        return gateway;
    }

    private static void warm(WarmUp warmUp, Gateway gateway, PrintWriter out) {
        Duration most = gateway.config().health().warmUp();
        if (most.isZero()) {
            warmUp.begin(most, () -> {});
            return;
        }
        out.println("Warming up for at most " + most.toSeconds()
                + " s; calls are served, and the gateway is ready after that.");
        out.flush();
        warmUp.begin(most, () -> {
            out.println(gateway.ready() ? "Ready." : "The warm-up is over; the gateway is not ready yet.");
            out.flush();
        });
    }

    private GatewayConfig overridden(GatewayConfig config) {
        if (host == null && port == null) {
            return config;
        }
        Listener first = config.listeners().get(0);
        return config.withListener(
                new Listener(host == null ? first.host() : host, port == null ? first.port() : port));
    }

    private static void announce(Gateway gateway, PrintWriter out) {
        AtomicReference<String> why = new AtomicReference<>("the process ends");
        ProcessSignals.beforeEnd(why::set);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> gateway.stop(why.get()), "isthmus-shutdown"));
        for (InetSocketAddress address : gateway.addresses()) {
            out.println("Isthmus " + Version.current() + " takes REST and gRPC on " + text(address));
        }
        gateway.adminAddress().ifPresent(address -> out.println("Admin address: " + text(address)));
    }

    private static String text(InetSocketAddress address) {
        return address.getHostString() + ":" + address.getPort();
    }
}
