package dev.isthmus.bench.faults;

import java.util.List;

/** Configurations of the gateway. */
record GatewayConfigs(int port, int adminPort, List<Integer> stubs) {
    /** The same for a gateway on another port. */
    GatewayConfigs at(int other) {
        return new GatewayConfigs(other, adminPort, stubs);
    }

    /** A configuration whose gateway starts and ends fast. */
    static String withShortDrain(String config) {
        return "drain: {delay: 500ms, timeout: 20s}\nhealth: {warm_up: 0s}\n" + config;
    }

    /** Both stubs as replicas of one upstream with these settings. */
    String replicas(String... settings) {
        return fleet(listener(""), settings);
    }

    /** As {@link #replicas}, of servers that speak REST. */
    String restReplicas(String... settings) {
        return replicas(settings).replace("protocol: grpc", "protocol: rest");
    }

    /** The same behind a TLS listener. */
    String secureReplicas() {
        return fleet(listener(", " + CertificateFiles.setting()));
    }

    private String fleet(String listener, String... settings) {
        StringBuilder upstream = new StringBuilder();
        for (String setting : settings) {
            upstream.append("    ").append(setting).append('\n');
        }
        return listener + """
                upstreams:
                  fleet:
                    protocol: grpc
                    endpoints: ["127.0.0.1:%d", "127.0.0.1:%d"]
                    timeout: 8s
                %smodels:
                  m: {upstream: fleet}
                """.formatted(stubs.get(0), stubs.get(1), upstream);
    }

    /** Each stub as a separate upstream, with a model split between them; weights are percentages. */
    String split(int first) {
        return listener("") + """
                upstreams:
                  one: {protocol: grpc, endpoints: ["127.0.0.1:%d"]}
                  two: {protocol: grpc, endpoints: ["127.0.0.1:%d"]}
                models:
                  m:
                    targets:
                      - {name: stable, upstream: one, weight: %d}
                      - {name: canary, upstream: two, weight: %d}
                """.formatted(stubs.get(0), stubs.get(1), first, 100 - first);
    }

    /** A configuration with the admin listener, for its metrics of reloads. */
    String withAdmin(String config) {
        return "admin: {host: 127.0.0.1, port: " + adminPort + "}\n" + config;
    }

    private String listener(String settings) {
        return """
                listeners: [{host: 127.0.0.1, port: %d%s}]
                limits: {max_concurrent_streams: 10000}
                """.formatted(port, settings);
    }
}
