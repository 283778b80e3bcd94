package dev.isthmus.gateway.endtoend;

import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.catalogue.Catalogue;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.gateway.settings.ConfigLoader;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/** Gateways in this JVM, so that their buffers are checked for leaks. */
final class TestGateways {
    private TestGateways() {}

    /** With the servers' error messages, which their clients expect. */
    static Gateway start(String yaml) throws Exception {
        Path file = Files.createTempFile("isthmus", ".yaml");
        try {
            Files.writeString(file, yaml.contains("answers:") ? yaml : yaml + "\nanswers: {errors: passed}\n");
            return Gateway.start(ConfigLoader.load(file));
        } finally {
            Files.delete(file);
        }
    }

    static void awaitReady(Gateway... gateways) {
        for (Gateway gateway : gateways) {
            await().atMost(Duration.ofMinutes(2)).until(() -> everyServerIsReady(gateway.catalogue()));
        }
    }

    private static boolean everyServerIsReady(Catalogue catalogue) {
        return catalogue.settled()
                && catalogue.upstreams().stream()
                        .flatMap(upstream -> catalogue.members(upstream).stream())
                        .allMatch(ReplicaStatus::ready);
    }

    static String address(Gateway gateway) {
        InetSocketAddress address = gateway.addresses().get(0);
        return address.getAddress().getHostAddress() + ":" + address.getPort();
    }
}
