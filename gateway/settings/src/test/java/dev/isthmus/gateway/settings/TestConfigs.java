package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import java.io.IOException;
import java.lang.reflect.RecordComponent;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/** Configurations for tests: existing ones with changes. */
public final class TestConfigs {
    /**
     * Below the kernel's ephemeral ports, so that no other socket takes one meanwhile; each JVM of a module's tests has
     * ports of its own.
     */
    private static final int PORTS_OF_JVM = 5_000;

    private static final int FIRST_PORT = 5_000 + PORTS_OF_JVM * Integer.getInteger("isthmus.fork", 1);
    private static final AtomicInteger PORTS =
            new AtomicInteger(ThreadLocalRandom.current().nextInt(PORTS_OF_JVM));

    private TestConfigs() {}

    /** An upstream of these servers; all other settings have their defaults. */
    public static UpstreamConfig upstream(UpstreamProtocol protocol, Endpoint... servers) {
        List<ServerAddress> addresses = Stream.of(servers)
                .<ServerAddress>map(ServerAddress.HostAddress::new)
                .toList();
        return with(UpstreamConfig.DEFAULT, Map.of("protocol", protocol, "endpoints", addresses));
    }

    /** A server on loopback. */
    public static Endpoint loopback(int port) {
        return new Endpoint("127.0.0.1", port);
    }

    /** An address on loopback where nothing listens, and where a server may be started. */
    public static Endpoint unusedEndpoint() {
        while (true) {
            int port = FIRST_PORT + Math.floorMod(PORTS.getAndIncrement(), PORTS_OF_JVM);
            try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                return loopback(socket.getLocalPort());
            } catch (IOException taken) {
                // Try another port.
            }
        }
    }

    /** A copy of a record with other values of these components. */
    public static <R extends Record> R with(R base, Map<String, ?> changes) {
        Map<String, Object> left = new HashMap<>(changes);
        RecordComponent[] components = base.getClass().getRecordComponents();
        Class<?>[] types = new Class<?>[components.length];
        Object[] values = new Object[components.length];
        try {
            for (int i = 0; i < components.length; i++) {
                String name = components[i].getName();
                types[i] = components[i].getType();
                values[i] = left.containsKey(name)
                        ? left.remove(name)
                        : components[i].getAccessor().invoke(base);
            }
            if (!left.isEmpty()) {
                throw new AssertionError(base.getClass() + " has no " + left.keySet());
            }
            @SuppressWarnings("unchecked")
            Class<R> type = (Class<R>) base.getClass();
            return type.getDeclaredConstructor(types).newInstance(values);
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("the record cannot be made anew", e);
        }
    }
}
