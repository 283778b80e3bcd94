package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.GatewayConfig.UpstreamProtocol;
import java.lang.reflect.RecordComponent;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Configurations for tests: one that is there already, in which some things are otherwise. */
public final class TestConfigs {
    private TestConfigs() {}

    /** An upstream of these servers with everything else at its default. */
    public static UpstreamConfig upstream(UpstreamProtocol protocol, Endpoint... servers) {
        List<ServerAddress> addresses = Stream.of(servers)
                .<ServerAddress>map(ServerAddress.HostAddress::new)
                .toList();
        return with(UpstreamConfig.DEFAULT, Map.of("protocol", protocol, "endpoints", addresses));
    }

    /** A server on this machine. */
    public static Endpoint loopback(int port) {
        return new Endpoint("127.0.0.1", port);
    }

    /** The same record with other values for these of its components. */
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
