package dev.isthmus.gateway.config;

import dev.isthmus.gateway.call.HeaderNames;
import dev.isthmus.gateway.config.GatewayConfig.Answers;
import dev.isthmus.gateway.config.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.config.GatewayConfig.Headers;
import dev.isthmus.gateway.config.GatewayConfig.HealthBody;
import dev.isthmus.gateway.config.GatewayConfig.Limits;
import dev.isthmus.gateway.config.GatewayConfig.Listener;
import dev.isthmus.gateway.config.GatewayConfig.LocalConfig;
import dev.isthmus.gateway.config.GatewayConfig.Protocol;
import dev.isthmus.gateway.config.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.config.GatewayConfig.StreamForm;
import dev.isthmus.transcoder.NonFinite;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;
import org.yaml.snakeyaml.error.MarkedYAMLException;
import org.yaml.snakeyaml.nodes.Node;

/** Reads the configuration file. A file with any problem is refused as a whole, with all of them. */
public final class ConfigLoader {
    private static final Pattern SIZE = Pattern.compile("([0-9]{1,10})(B|KiB|MiB|GiB)?");
    private static final Pattern DURATION = Pattern.compile("([0-9]{1,9})(ms|s|m|h)");
    private static final Pattern HEADER = Pattern.compile("[!#$%&'+.^_`|~0-9A-Za-z-]+\\*?");
    private static final Pattern ENDPOINT = Pattern.compile("(\\[[0-9a-fA-F:.]+]|[^\\s:/\\[\\]]+):([0-9]{1,5})");

    private final YamlReader yaml;
    private final Path folder;

    private ConfigLoader(YamlReader yaml, Path folder) {
        this.yaml = yaml;
        this.folder = folder;
    }

    /**
     * Reads a file.
     *
     * @throws ConfigException when it cannot be read or anything in it is wrong
     */
    public static GatewayConfig load(Path file) throws ConfigException {
        String text;
        try {
            text = Files.readString(file);
        } catch (IOException e) {
            throw new ConfigException(List.of(file + ": cannot be read: " + e));
        }
        Path parent = file.toAbsolutePath().getParent();
        return parse(file.toString(), text, parent == null ? file : parent);
    }

    /** Reads a text; paths in it are relative to the folder. */
    static GatewayConfig parse(String name, String text, Path folder) throws ConfigException {
        YamlReader yaml = new YamlReader(name);
        Node root;
        try {
            root = new Yaml(new SafeConstructor(new LoaderOptions())).compose(new StringReader(text));
        } catch (MarkedYAMLException e) {
            String place = e.getProblemMark() == null
                    ? ""
                    : ":" + (e.getProblemMark().getLine() + 1) + ":"
                            + (e.getProblemMark().getColumn() + 1);
            throw new ConfigException(List.of(name + place + ": malformed YAML: " + e.getProblem()));
        }
        if (root == null) {
            throw new ConfigException(List.of(name + ":1:1: the file is empty"));
        }
        GatewayConfig config = new ConfigLoader(yaml, folder).gateway(root);
        if (!yaml.problems().isEmpty()) {
            throw new ConfigException(yaml.problems());
        }
        return config;
    }

    private GatewayConfig gateway(Node root) {
        Map<String, Node> keys = yaml.object(
                root,
                "the configuration",
                Set.of(
                        "listeners",
                        "limits",
                        "headers",
                        "answers",
                        "upstreams",
                        "local",
                        "models",
                        "default_upstream"));
        List<Listener> listeners = yaml.list(keys.get("listeners"), "listeners", this::listener);
        Map<String, UpstreamConfig> upstreams = new LinkedHashMap<>();
        Node upstreamsNode = keys.get("upstreams");
        if (upstreamsNode != null) {
            yaml.members(upstreamsNode, "upstreams").forEach((name, node) -> upstreams.put(name, upstream(name, node)));
        }
        Node localNode = keys.get("local");
        LocalConfig local = localNode == null ? null : local(localNode);
        Set<String> known = new LinkedHashSet<>(upstreams.keySet());
        if (local != null) {
            known.add(GatewayConfig.LOCAL);
        }
        Map<String, ModelConfig> models = new LinkedHashMap<>();
        Node modelsNode = keys.get("models");
        if (modelsNode != null) {
            yaml.members(modelsNode, "models").forEach((name, node) -> {
                Map<String, Node> model = yaml.object(node, "model '" + name + "'", Set.of("upstream"));
                Node upstream = model.get("upstream");
                if (upstream == null) {
                    yaml.problem(node, "model '" + name + "': 'upstream' is missing");
                }
                models.put(name, ModelConfig.of(reference(upstream, "model '" + name + "': upstream", known)));
            });
        }
        Node fallback = keys.get("default_upstream");
        String defaultUpstream = fallback == null ? null : reference(fallback, "default_upstream", known);
        if (upstreams.isEmpty() && local == null) {
            yaml.problem(root, "nothing to serve: 'upstreams' or 'local' is expected");
        } else if (models.isEmpty() && defaultUpstream == null) {
            yaml.problem(root, "nothing to serve: 'models' or 'default_upstream' is expected");
        }
        return new GatewayConfig(
                listeners.isEmpty() ? List.of(Listener.DEFAULT) : listeners,
                null,
                limits(keys.get("limits")),
                headers(keys.get("headers")),
                answers(keys.get("answers")),
                GatewayConfig.Health.DEFAULT,
                upstreams,
                local,
                models,
                defaultUpstream);
    }

    private String reference(@Nullable Node node, String what, Set<String> known) {
        String name = yaml.text(node, what, "");
        if (node != null && !name.isEmpty() && !known.contains(name)) {
            String hint = name.equals(GatewayConfig.LOCAL)
                    ? "; it needs a section 'local'"
                    : YamlReader.suggestion(name, known);
            yaml.problem(node, what + ": no upstream is named '" + name + "'" + hint);
        }
        return name;
    }

    private final Set<Listener> addresses = new LinkedHashSet<>();

    private Listener listener(Node node) {
        Map<String, Node> keys = yaml.object(node, "listener", Set.of("host", "port"));
        Listener listener = new Listener(
                yaml.text(keys.get("host"), "listener: host", Listener.DEFAULT.host()),
                yaml.integer(keys.get("port"), "listener: port", 0, 65_535, Listener.DEFAULT.port()));
        if (!addresses.add(listener) && listener.port() != 0) {
            yaml.problem(node, "listener: " + listener.host() + ":" + listener.port() + " is given twice");
        }
        return listener;
    }

    private Limits limits(@Nullable Node node) {
        if (node == null) {
            return Limits.DEFAULT;
        }
        Map<String, Node> keys = yaml.object(node, "limits", Set.of("max_body_size", "max_concurrent_streams"));
        int body = yaml.scalar(
                keys.get("max_body_size"),
                "limits: max_body_size",
                "a size such as 64MiB, of at most 1GiB",
                Limits.DEFAULT.maxBodySize(),
                (text, at) -> size(text));
        return new Limits(
                body,
                yaml.integer(
                        keys.get("max_concurrent_streams"),
                        "limits: max_concurrent_streams",
                        1,
                        100_000,
                        Limits.DEFAULT.maxConcurrentStreams()),
                Limits.DEFAULT.maxRequests());
    }

    private Headers headers(@Nullable Node node) {
        if (node == null) {
            return Headers.DEFAULT;
        }
        Map<String, Node> keys = yaml.object(node, "headers", Set.of("forward", "return"));
        return new Headers(
                names(keys.get("forward"), "headers: forward", Headers.DEFAULT.forwarded()),
                names(keys.get("return"), "headers: return", Headers.DEFAULT.returned()));
    }

    private HeaderNames names(@Nullable Node node, String what, HeaderNames otherwise) {
        if (node == null) {
            return otherwise;
        }
        List<String> names = yaml.list(
                node,
                what,
                each -> yaml.<@Nullable String>scalar(
                        each, what, "a header's name, or its beginning with * after it", null, (text, at) -> {
                            if (!HEADER.matcher(text).matches()) {
                                return null;
                            }
                            try {
                                HeaderNames.of(List.of(text));
                                return text;
                            } catch (IllegalArgumentException never) {
                                return null;
                            }
                        }));
        return HeaderNames.of(names);
    }

    private Answers answers(@Nullable Node node) {
        if (node == null) {
            return Answers.DEFAULT;
        }
        Map<String, Node> keys = yaml.object(
                node,
                "answers",
                Set.of("non_finite", "stream_form", "compress", "compress_above", "health_body", "not_ready_status"));
        return new Answers(
                yaml.choice(
                        keys.get("non_finite"), "answers: non_finite", NonFinite.class, Answers.DEFAULT.nonFinite()),
                yaml.choice(
                        keys.get("stream_form"),
                        "answers: stream_form",
                        StreamForm.class,
                        Answers.DEFAULT.streamForm()),
                yaml.scalar(
                        keys.get("compress_above"),
                        "answers: compress_above",
                        "a size such as 1KiB, of at most 1GiB",
                        Answers.DEFAULT.compressAbove(),
                        (text, at) -> size(text)),
                yaml.bool(keys.get("compress"), "answers: compress", Answers.DEFAULT.compress()),
                yaml.choice(
                        keys.get("health_body"),
                        "answers: health_body",
                        HealthBody.class,
                        Answers.DEFAULT.healthBody()),
                yaml.scalar(
                        keys.get("not_ready_status"),
                        "answers: not_ready_status",
                        "400 or 503",
                        Answers.DEFAULT.notReadyStatus(),
                        (text, at) -> switch (text) {
                            case "400" -> 400;
                            case "503" -> 503;
                            default -> null;
                        }));
    }

    private static @Nullable Integer size(String text) {
        Matcher matcher = SIZE.matcher(text);
        if (!matcher.matches()) {
            return null;
        }
        String unit = matcher.group(2) == null ? "B" : matcher.group(2);
        long bytes = Long.parseLong(matcher.group(1))
                << switch (unit) {
                    case "KiB" -> 10;
                    case "MiB" -> 20;
                    case "GiB" -> 30;
                    default -> 0;
                };
        return bytes < 1 || bytes > 1 << 30 ? null : (int) bytes;
    }

    private UpstreamConfig upstream(String name, Node node) {
        String what = "upstream '" + name + "'";
        if (name.equals(GatewayConfig.LOCAL)) {
            yaml.problem(node, what + ": the name is reserved for the local backend");
        }
        Map<String, Node> keys = yaml.object(
                node,
                what,
                Set.of(
                        "protocol",
                        "endpoints",
                        "binary_tensor_data",
                        "timeout",
                        "connect_timeout",
                        "dialect",
                        "shared_memory"));
        for (String required : List.of("protocol", "endpoints")) {
            if (!keys.containsKey(required)) {
                yaml.problem(node, what + ": '" + required + "' is missing");
            }
        }
        return UpstreamConfig.of(
                        yaml.choice(keys.get("protocol"), what + ": protocol", Protocol.class, Protocol.GRPC),
                        yaml.list(keys.get("endpoints"), what + ": endpoints", each -> endpoint(each, what))
                                .toArray(Endpoint[]::new))
                .speaking(
                        yaml.choice(keys.get("dialect"), what + ": dialect", ServerDialect.class, ServerDialect.AUTO),
                        yaml.choice(
                                keys.get("binary_tensor_data"),
                                what + ": binary_tensor_data",
                                BinaryTensorData.class,
                                BinaryTensorData.AUTO),
                        yaml.bool(keys.get("shared_memory"), what + ": shared_memory", false))
                .within(
                        duration(
                                keys.get("connect_timeout"),
                                what + ": connect_timeout",
                                UpstreamConfig.DEFAULT.connectTimeout()),
                        duration(keys.get("timeout"), what + ": timeout", UpstreamConfig.DEFAULT.timeout()),
                        null);
    }

    private @Nullable Endpoint endpoint(Node node, String what) {
        return yaml.<@Nullable Endpoint>scalar(
                node, what + ": endpoint", "host:port with a port from 1 to 65535", null, (text, at) -> {
                    Matcher matcher = ENDPOINT.matcher(text);
                    int port = matcher.matches() ? Integer.parseInt(matcher.group(2)) : 0;
                    return port < 1 || port > 65_535
                            ? null
                            : new Endpoint(matcher.group(1).replaceAll("[\\[\\]]", ""), port);
                });
    }

    private Duration duration(@Nullable Node node, String what, Duration otherwise) {
        return yaml.scalar(node, what, "a duration such as 500ms, 60s, 5m", otherwise, (text, at) -> {
            Matcher matcher = DURATION.matcher(text);
            if (!matcher.matches()) {
                return null;
            }
            long amount = Long.parseLong(matcher.group(1));
            Duration read = switch (matcher.group(2)) {
                case "ms" -> Duration.ofMillis(amount);
                case "s" -> Duration.ofSeconds(amount);
                case "m" -> Duration.ofMinutes(amount);
                default -> Duration.ofHours(amount);
            };
            return read.isZero() || read.compareTo(Duration.ofDays(7)) > 0 ? null : read;
        });
    }

    private LocalConfig local(Node node) {
        Map<String, Node> keys =
                yaml.object(node, "local", Set.of("model_repository", "embedded_models", "threads", "queue_size"));
        Node repository = keys.get("model_repository");
        Path path = repository == null ? null : folder.resolve(yaml.text(repository, "local: model_repository", "."));
        if (repository != null && path != null && !Files.isDirectory(path)) {
            yaml.problem(repository, "local: model_repository: " + path + " is no directory");
        }
        boolean embedded = yaml.bool(keys.get("embedded_models"), "local: embedded_models", false);
        if (path == null && !embedded) {
            yaml.problem(node, "local: 'model_repository' or 'embedded_models: true' is expected");
        }
        return new LocalConfig(
                path,
                embedded,
                yaml.integer(keys.get("threads"), "local: threads", 0, 1024, 0),
                yaml.integer(
                        keys.get("queue_size"), "local: queue_size", 1, 1_000_000, LocalConfig.DEFAULT_QUEUE_SIZE));
    }
}
