package dev.isthmus.gateway.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.isthmus.gateway.FleetProbe;
import dev.isthmus.gateway.Version;
import dev.isthmus.gateway.fleet.kubernetes.ApiServer;
import dev.isthmus.gateway.fleet.kubernetes.ApiServer.AccessReview;
import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.redis.FleetSharing;
import dev.isthmus.gateway.settings.ConfigException;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.DiscoverConfig.KServeConfig;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.ServerAddress;
import dev.isthmus.gateway.settings.ServerAddress.KubernetesService;
import dev.isthmus.gateway.settings.SharedConfig;
import dev.isthmus.gateway.settings.TimeoutHints;
import dev.isthmus.gateway.settings.TlsFileException;
import dev.isthmus.gateway.settings.TlsFiles;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.gateway.tls.CertificateExpiry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.format.DateTimeFormatter;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.commons.cli.Option;

/** Checks a configuration, and what a gateway with it would depend on from where the command runs. */
final class CheckCommand extends Command {
    private static final Option TIMEOUT = CommandOptions.valued(
            "timeout", "TIME", "How long Redis, the API server and all servers may take, each; default 10s.");
    private static final Option OUTPUT = CommandOptions.output("Form of the output.", "table", "json");
    private static final String OK = "ok";
    /** It works, and may not for long. */
    private static final String WARNING = "warning";

    private static final String FAILED = "failed";

    CheckCommand() {
        super(
                "check",
                List.of(),
                List.of(ServeCommand.CONFIG, TIMEOUT, OUTPUT),
                "Checks configuration, certificates, clock, Redis, rights in Kubernetes, and servers.",
                "Exit status: 0 nothing has failed, 1 something has, 2 the configuration is refused.");
    }

    @Override
    int run(Arguments arguments, Console console) throws UsageException {
        List<Path> files = arguments.files(ServeCommand.CONFIG);
        String subject = files.isEmpty()
                ? "embedded"
                : files.stream().map(Path::toString).collect(Collectors.joining(", "));
        boolean json = arguments.word(OUTPUT).equals("json");
        CheckTable table = new CheckTable(arguments.duration(TIMEOUT, "10s"));
        int code;
        try {
            GatewayConfig config =
                    files.isEmpty() ? GatewayConfig.embedded() : ConfigLoader.load(files.toArray(Path[]::new));
            table.add("configuration", subject, OK, "");
            table.check(config);
            code = table.document.path("good").asBoolean() ? 0 : 1;
        } catch (ConfigException e) {
            e.problems().forEach(each -> table.add("configuration", subject, FAILED, each));
            code = IsthmusCommand.REFUSED;
        }
        if (json) {
            console.out().println(table.document.toPrettyString());
        } else {
            TextTable.print(
                    console.out(),
                    "CHECK=check, SUBJECT=subject, RESULT=result, DETAIL=detail",
                    table.rows.valueStream());
        }
        return code;
    }

    /** What was checked, a row each. Blocks. */
    private static final class CheckTable {
        private static final ObjectMapper JSON = new ObjectMapper();
        /** The keys of files with certificates. */
        private static final List<String> CERTIFICATES = List.of("certificate", "ca", "ca_file", "jwks_ca");
        /** As long before its end as the alert and {@code isthmus problems} name a certificate. */
        private static final Duration SOON = Duration.ofDays(14);

        private static final Duration INEXACT = Duration.ofSeconds(2);
        /** With more, tokens count as expired, or as not valid yet. */
        private static final Duration WRONG = Duration.ofMinutes(1);

        private final Duration timeout;
        private final ObjectNode document = JSON.createObjectNode().put("good", true);
        private final ArrayNode rows = document.putArray("checks");

        CheckTable(Duration timeout) {
            this.timeout = timeout;
        }

        void add(String check, String subject, String result, String detail) {
            rows.addObject()
                    .put("check", check)
                    .put("subject", subject)
                    .put("result", result)
                    .put("detail", detail);
            document.put("good", document.path("good").asBoolean() && !result.equals(FAILED));
        }

        void check(GatewayConfig config) {
            TimeoutHints.of(config).forEach(each -> add("configuration", "", WARNING, each));
            JsonNode values = JSON.valueToTree(config.values());
            for (String key : CERTIFICATES) {
                values.findValuesAsText(key).stream()
                        .distinct()
                        .map(Path::of)
                        .filter(Files::isRegularFile)
                        .forEach(file -> certificate(file, key.equals("certificate")));
            }
            if (config.shared() != null) {
                redis(config.shared());
            }
            kubernetes(config);
            servers(config);
            String build = "commit " + Version.commit() + ", JDK " + Runtime.version();
            add("version", "isthmus " + Version.current(), OK, build);
        }

        /**
         * The certificate of a file that expires first.
         *
         * @param own whether the gateway shows it, or else trusts it
         */
        private void certificate(Path file, boolean own) {
            try {
                CertificateExpiry first = TlsFiles.certificates(file).stream()
                        .map(each -> CertificateExpiry.of(file, each))
                        .min(Comparator.comparing(CertificateExpiry::until))
                        .orElseThrow();
                Duration left = Duration.between(Instant.now(), first.until());
                String problem = first.problem(Instant.now());
                String result =
                        problem != null && own ? FAILED : problem != null || left.compareTo(SOON) < 0 ? WARNING : OK;
                String said = problem == null ? left.toDays() + " days left, until " + first.until() : problem;
                add("certificate", file.toString(), result, "'" + first.subject() + "' " + said);
            } catch (TlsFileException e) {
                add("certificate", file.toString(), FAILED, FailureReason.of(e));
            }
        }

        private void redis(SharedConfig shared) {
            try {
                Instant time = FleetSharing.clock(shared, timeout);
                add("redis", shared.servers(), OK, "answers, and takes what is written");
                clock(shared.servers(), time);
            } catch (IOException e) {
                add("redis", shared.servers(), FAILED, FailureReason.of(e));
            }
        }

        private void clock(String of, Instant time) {
            Duration ahead = Duration.between(time, Instant.now());
            Duration off = ahead.abs();
            String result = off.compareTo(WRONG) > 0 ? FAILED : off.compareTo(INEXACT) > 0 ? WARNING : OK;
            String side = ahead.isNegative() ? "behind it" : "ahead of it";
            add("clock", of, result, String.format(Locale.ROOT, "here %.1f s %s", off.toMillis() / 1e3, side));
        }

        /** Whether the account may watch what the gateway watches. */
        private void kubernetes(GatewayConfig config) {
            Set<List<String>> watched = new LinkedHashSet<>();
            for (KServeConfig each : config.discover().kserve()) {
                watched.add(List.of(each.namespace(), "serving.kserve.io", "inferenceservices"));
                watched.add(List.of(each.namespace(), "serving.kserve.io", "servingruntimes"));
                watched.add(List.of(each.namespace(), "discovery.k8s.io", "endpointslices"));
            }
            for (UpstreamConfig upstream : config.upstreams().values()) {
                for (ServerAddress each : upstream.endpoints()) {
                    if (each instanceof KubernetesService service) {
                        watched.add(List.of(service.namespace(), "discovery.k8s.io", "endpointslices"));
                    }
                }
            }
            String date = "";
            try {
                ApiServer server = new ApiServer(config.kubernetes(), System.getenv());
                for (List<String> each : watched) {
                    for (String verb : List.of("list", "watch")) {
                        AccessReview review = server.review(each.get(0), each.get(1), each.get(2), verb, timeout);
                        String what = verb + " " + each.get(2) + "." + each.get(1) + " " + review.reason();
                        String said = (review.allowed() ? "may " : "may not ") + what.strip();
                        add("kubernetes", "namespace " + each.get(0), review.allowed() ? OK : FAILED, said);
                        date = review.date();
                    }
                }
                if (!date.isEmpty()) {
                    clock("API server", DateTimeFormatter.RFC_1123_DATE_TIME.parse(date, Instant::from));
                }
            } catch (IOException | DateTimeException e) {
                add("kubernetes", "API server", FAILED, FailureReason.of(e));
            }
        }

        private void servers(GatewayConfig config) {
            ObjectNode fleet = FleetProbe.of(config, timeout);
            document.set("servers", fleet.path("servers"));
            for (JsonNode server : fleet.path("servers")) {
                if (server.path("ready").asBoolean()) {
                    String kind = server.has("protocol")
                            ? server.path("protocol").asText() + ", dialect " + FleetCommands.dialect(server)
                            : "in the gateway's process";
                    String name = server.path("name").asText() + " "
                            + server.path("version").asText();
                    String said = kind + (name.isBlank() ? "" : ", " + name);
                    add("server", FleetCommands.place(server), OK, said);
                }
            }
            fleet.path("problems").forEach(each -> add("server", "", FAILED, each.asText()));
        }
    }
}
