package dev.isthmus.gateway.settings;

import io.netty.util.NetUtil;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.nodes.Node;

/**
 * Cross-checks between sections, after each of them was read. {@link ModelConfigChecks} checks the models. Problems
 * that only follow from an unreadable part are not reported.
 */
final class ConfigChecks {
    private final YamlReader yaml;
    private final SectionPositions positions;
    private final GatewayConfig config;
    private final Set<String> upstreams;
    private final TlsChecks tls;
    private ReadableNodes nodes;

    ConfigChecks(YamlReader yaml, SectionPositions positions, GatewayConfig config) {
        this.yaml = yaml;
        this.positions = positions;
        this.config = config;
        tls = new TlsChecks(this, yaml, positions);
        nodes = yaml.readableNodes();
        upstreams = new TreeSet<>(config.upstreams().keySet());
        if (config.local() != null) {
            upstreams.add(GatewayConfig.LOCAL);
        }
    }

    void run() {
        listeners();
        new AccessChecks(this, yaml, positions, config).run();
        kubernetes(config.kubernetes());
        UpstreamChecks ofUpstreams = new UpstreamChecks(this, tls, yaml, positions);
        new TreeMap<>(config.upstreams()).forEach((name, upstream) -> {
            // A problem in a node shared by several upstreams is reported for the first one only.
            nodes = yaml.readableNodes();
            ofUpstreams.run(name, upstream);
        });
        new DiscoverChecks(this, yaml, positions).run(config.discover());
        config.discover().kserve().stream()
                .filter(each -> !each.upstream().equals(UpstreamConfig.DEFAULT))
                .forEach(each -> {
                    nodes = yaml.readableNodes();
                    ofUpstreams.run(each.namespace() + "/*", each.upstream());
                });
        if (config.local() != null) {
            local(config.local());
        }
        logging(config.logging());
        if (config.accessLog() != null) {
            accessLog(config.accessLog());
        }
        written(config.ramps(), "ramps", "state_file", config.ramps().stateFile());
        collectors();
        if (config.shared() != null) {
            new SharedChecks(this, tls, yaml, positions).run(config.shared());
        }
        if (config.payloadLog() != null) {
            new PayloadLogChecks(this, yaml, positions).run(config.payloadLog());
        }
        layers(config.layers());
        new ModelConfigChecks(this, yaml, positions, config).run();
        String other = config.defaultUpstream();
        if (other != null) {
            reference(positions.of(config, "default_upstream"), "default_upstream", other);
        }
        anythingToServe();
    }

    private void layers(LayersConfig layers) {
        Set<String> names = new HashSet<>();
        for (LayersConfig.AddedLayer each : layers.add()) {
            if (!each.name().isEmpty() && !names.add(each.name())) {
                yaml.problem(
                        positions.of(each, "name"),
                        "layers: add: '" + each.name() + "' is there twice: one is expected");
            }
            if (readable(each, "before")
                    && readable(each, "after")
                    && (each.before() == null) == (each.after() == null)) {
                yaml.problem(
                        positions.of(each),
                        "layers: add: '" + each.name() + "': either 'before' or 'after' is expected, got "
                                + (each.before() == null ? "neither" : "both"));
            }
        }
    }

    private void collectors() {
        CollectorChecks collectors = new CollectorChecks(this, yaml, positions);
        if (config.metrics().otlp() != null) {
            collectors.run(CollectorChecks.CollectorSection.of(config.metrics().otlp()));
        }
        if (config.tracing() != null) {
            collectors.run(CollectorChecks.CollectorSection.of(config.tracing()));
        }
    }

    /** Checks that an upstream of this name exists. */
    void reference(Node node, String what, String name) {
        if (name.isEmpty() || upstreams.contains(name) || !readable(config, "upstreams") || misspelled(name)) {
            return;
        }
        String hint =
                name.equals(GatewayConfig.LOCAL) ? "; it needs a section 'local'" : yaml.suggestion(name, upstreams);
        yaml.problem(node, what + ": no upstream is named '" + name + "'" + hint);
    }

    /** Whether an unknown key may have been meant as the section that this upstream would be in. */
    private boolean misspelled(String name) {
        boolean absent = name.equals(GatewayConfig.LOCAL)
                ? config.local() == null
                : config.upstreams().isEmpty();
        return absent && !valid(config, new String[0]);
    }

    /** Whether a section was read without problems. */
    boolean valid(Record section) {
        return nodes.valid(positions.of(section));
    }

    /** Whether a key's value has the right type; problems inside it do not count. */
    boolean readable(Record section, String key) {
        return nodes.readable(positions.of(section, key));
    }

    /** The same for the value at this node. */
    boolean readable(Node node) {
        return nodes.readable(node);
    }

    /** Whether these keys of a section were read without problems, and none of its keys is unknown. */
    boolean valid(Record section, String... keys) {
        return nodes.valid(positions.of(section), Set.of(keys));
    }

    private void anythingToServe() {
        if (!valid(config) || !config.discover().kserve().isEmpty()) {
            return;
        }
        if (upstreams.isEmpty()) {
            yaml.problem(positions.of(config), "nothing to serve: 'upstreams', 'local' or 'discover' is expected");
        } else if (config.models().isEmpty()
                && config.defaultUpstream() == null
                && config.upstreams().values().stream().noneMatch(UpstreamConfig::discover)) {
            yaml.problem(
                    positions.of(config),
                    "nothing to serve: 'models' or 'default_upstream', or 'discover: true' of an upstream is expected");
        }
    }

    private void listeners() {
        List<Listener> addresses = new ArrayList<>();
        Set<String> names = new HashSet<>();
        for (Listener each : config.listeners()) {
            listener(each, addresses, names);
        }
        if (config.admin() != null) {
            new AdminChecks(this, yaml, positions).run(config.admin(), tls, addresses);
        }
    }

    private void listener(Listener listener, List<Listener> others, Set<String> names) {
        if (listener.tls() != null) {
            tls.listener("listener " + listener.label(), listener.tls());
        }
        if (listener.cors() != null) {
            cors("listener " + listener.label(), listener.cors());
        }
        if (!valid(listener, "host", "port", "name")) {
            return;
        }
        if (listener.port() != 0 && others.stream().anyMatch(listener::sameAddress)) {
            yaml.problem(
                    positions.of(listener), "listener: " + listener.host() + ":" + listener.port() + " is given twice");
        } else if (listener.name() != null && !names.add(listener.name())) {
            yaml.problem(positions.of(listener, "name"), "listener: the name '" + listener.name() + "' is given twice");
        }
        if (valid(listener)
                && listener.proxyProtocol()
                && listener.trustedProxies().isEmpty()) {
            yaml.problem(
                    positions.of(listener, "proxy_protocol"),
                    "listener " + listener.label() + ": proxy_protocol: 'trusted_proxies' is expected, as connections "
                            + "of all others are closed");
        }
        others.add(listener);
    }

    private void cors(String what, CorsConfig cors) {
        if (valid(cors) && cors.credentials() && cors.origins().stream().anyMatch(OriginPattern::isAll)) {
            yaml.problem(
                    positions.of(cors, "credentials"),
                    what + ": cors: credentials: false is expected with the origin *, as any page could act for the "
                            + "user, got 'true'");
        }
    }

    static boolean isLoopback(String host) {
        byte[] address = NetUtil.createByteArrayFromIpAddressString(host);
        if (address == null) {
            return host.equals("localhost");
        }
        return address.length == 4
                ? address[0] == 127
                : NetUtil.bytesToIpAddress(address).equals("::1");
    }

    private void logging(LoggingConfig logging) {
        for (String area : new TreeSet<>(logging.levels().keySet())) {
            if (LogArea.named(area) == null) {
                yaml.problem(
                        positions.of(logging, "levels"),
                        "logging: levels: one of " + LogArea.labels() + " is expected, got '" + area + "'");
            }
        }
    }

    /** A file that the gateway writes. */
    void written(Record section, String name, String key, @Nullable Path file) {
        String problem = file == null ? null : WrittenFile.problem(file);
        if (problem != null) {
            yaml.problem(positions.of(section, key), name + ": " + key + ": " + problem);
        }
    }

    private void accessLog(AccessLogConfig log) {
        written(log, "access_log", "file", log.file());
        for (String header : log.headers()) {
            if (AccessLogConfig.CREDENTIALS.contains(header)) {
                yaml.problem(
                        positions.of(log, "headers"),
                        "access_log: headers: '" + header + "' has credentials, which are never logged");
            }
        }
    }

    private void kubernetes(KubernetesConfig kubernetes) {
        String url = kubernetes.apiServer();
        if (url != null && readable(kubernetes, "api_server") && !secureOrigin(url)) {
            yaml.problem(
                    positions.of(kubernetes, "api_server"),
                    "kubernetes: api_server: an https URL of host and port is expected, got '" + url + "'");
        }
    }

    private static boolean secureOrigin(String url) {
        try {
            URI uri = new URI(url);
            return "https".equals(uri.getScheme())
                    && uri.getHost() != null
                    && uri.getRawUserInfo() == null
                    && List.of("", "/").contains(uri.getRawPath())
                    && uri.getRawQuery() == null
                    && uri.getRawFragment() == null;
        } catch (URISyntaxException e) {
            return false;
        }
    }

    private void local(LocalConfig local) {
        Path repository = local.modelRepository();
        if (valid(local) && repository == null && !local.embeddedModels()) {
            yaml.problem(positions.of(local), "local: 'model_repository' or 'embedded_models: true' is expected");
        } else if (repository != null && !Files.isDirectory(repository)) {
            yaml.problem(
                    positions.of(local, "model_repository"),
                    "local: model_repository: " + repository + " is not a directory");
        }
        if (valid(local, "model_control") && !local.load().isEmpty() && local.modelControl() != ModelControl.EXPLICIT) {
            yaml.problem(
                    positions.of(local, "load"),
                    "local: load: requires 'model_control: explicit', since otherwise all models are loaded");
        }
        if (!local.device().matches("cpu|auto|gpu:[0-9]{1,3}")) {
            yaml.problem(
                    positions.of(local, "device"),
                    "local: device: cpu, gpu:N or auto is expected, got '" + local.device() + "'");
        }
    }
}
