package dev.isthmus.bench.faults;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The configuration of an attacked gateway. Its timeouts are short, so that an attack takes only seconds. */
final class AttackConfig {
    private static final String HEAD = """
            listeners: [{host: 127.0.0.1, port: %d}]
            admin: {host: 127.0.0.1, port: %d}
            connections:
              request_headers_timeout: 3s
              request_body_timeout: 3s
              write_timeout: 3s
              stream_idle_timeout: 3s
              idle_timeout: 5s
            models:
              m: {upstream: grpc}
              r: {upstream: rest}
              big: {upstream: grpc}
              big-rest: {upstream: rest}
              goaway: {upstream: goaway}
              interim: {upstream: interim}
              closing: {upstream: closing}
              poison: {upstream: poison}
            upstreams:
              poison:
                protocol: grpc
                dialect: generic
                endpoints: [%s]
                timeout: 8s
                retry: {on: [lost], retries: 3, budget: 100%%}
            """;

    private AttackConfig() {}

    /**
     * The configuration's text.
     *
     * @param stubs ports of the servers, by {@link AttackStub.Kind}
     */
    static String text(int port, int adminPort, List<Integer> stubs) {
        List<String> poisoned = new ArrayList<>();
        StringBuilder upstreams = new StringBuilder();
        for (AttackStub.Kind kind : AttackStub.Kind.values()) {
            String endpoint = "\"127.0.0.1:" + stubs.get(kind.ordinal()) + "\"";
            if (kind.poisoned()) {
                poisoned.add(endpoint);
            } else {
                upstreams.append("  %s: {protocol: %s, dialect: generic, endpoints: [%s], timeout: 8s%s}%n"
                        .formatted(
                                kind.name().toLowerCase(Locale.ROOT),
                                kind.grpc() ? "grpc" : "rest",
                                endpoint,
                                kind.grpc() ? "" : ", binary_tensor_data: true"));
            }
        }
        return HEAD.formatted(port, adminPort, String.join(", ", poisoned)) + upstreams;
    }
}
