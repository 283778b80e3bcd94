package dev.isthmus.gateway.upstream.local;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.settings.DefaultValues;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.LocalConfig;
import dev.isthmus.gateway.settings.ServerAddress;
import dev.isthmus.gateway.settings.UpstreamConfig;
import dev.isthmus.local.LocalBackend;
import dev.isthmus.local.call.ProcessFolder;
import dev.isthmus.local.call.RunningModels;
import dev.isthmus.local.call.RunningModels.RunningModel;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.io.IOException;
import java.io.Reader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;
import org.slf4j.spi.LoggingEventBuilder;

/**
 * A process of its own for the local models: this program again, on a Unix socket that only its user can reach. It is
 * started again when it ends, until this is closed. It ends when its standard input does, and so with the gateway,
 * however that ends.
 */
public final class LocalProcess implements AutoCloseable {
    /** The hidden command that the process runs. */
    public static final String COMMAND = "local-process";
    /** The line on standard output which says that the models of the start are loaded, or have failed. */
    public static final String LOADED = "isthmus: the local models are loaded";

    private static final String PROGRAM = "dev.isthmus.gateway.cli.IsthmusCommand";
    /** A model that has run at so many crashes is not loaded again. */
    private static final int MAX_CRASHES = 3;

    private static final int MAX_CALLS = 1_000_000;

    private static final Duration FIRST_PAUSE = Duration.ofSeconds(1);
    private static final Duration LONGEST_PAUSE = Duration.ofMinutes(1);
    /** A process that has lived so long is started again after the first pause. */
    private static final Duration CALM = Duration.ofMinutes(5);

    private static final Duration START_MARGIN = Duration.ofSeconds(30);
    /** Longer than the process takes to end by itself. */
    private static final Duration END = Duration.ofSeconds(30);

    /** Agents, ports and files that only one process can have. */
    private static final List<String> OF_ONE_PROCESS = List.of(
            "-javaagent:",
            "-agentlib:",
            "-agentpath:",
            "-Xrun",
            "-XX:AOTCacheOutput",
            "-XX:AOTMode",
            "-XX:AOTConfiguration",
            "-XX:-AOTRecordTraining",
            "-XX:ErrorFile",
            "-XX:HeapDumpPath",
            "-XX:StartFlightRecording",
            "-XX:OnError",
            "-Dcom.sun.management.");

    /** An option that logs to the console: only one process can write a file. */
    private static final String CONSOLE_LOG = "-Xlog(:[^:]*(:(stdout|stderr)?(:.*)?)?)?";

    private static final Logger LOG = LoggerFactory.getLogger("dev.isthmus.local.process");

    private final LocalConfig config;
    private final String configuration;
    private final ProcessFolder folder;
    private final Thread supervisor;
    private final CompletableFuture<Void> loaded = new CompletableFuture<>();
    private final CountDownLatch closing = new CountDownLatch(1);
    /** Used by the supervisor only. */
    private final Map<String, Integer> crashes = new HashMap<>();

    private @Nullable Process process;

    private LocalProcess(LocalConfig config, String configuration, ProcessFolder folder) {
        this.config = config;
        this.configuration = configuration;
        this.folder = folder;
        this.supervisor =
                Thread.ofPlatform().daemon().name("isthmus-local-process").unstarted(this::supervise);
    }

    /**
     * Starts it in the background.
     *
     * @throws OipException if it cannot be started at all
     */
    public static LocalProcess start(GatewayConfig config) {
        LocalBackend.requireAvailable();
        try {
            ProcessFolder folder = ProcessFolder.create();
            // Its values are no references any more.
            String text =
                    new ObjectMapper().writeValueAsString(configuration(config)).replace("${", "$${");
            LocalProcess started = new LocalProcess(Objects.requireNonNull(config.local()), text, folder);
            started.supervisor.start();
            return started;
        } catch (IOException e) {
            throw new OipException(
                    ErrorCode.FAILED_PRECONDITION,
                    "local: process: own: the folder for its socket cannot be made: " + e.getMessage(),
                    e);
        }
    }

    /**
     * The configuration of the process, which has one client, this gateway: it limits what clients may do, and how much
     * memory calls take there too.
     */
    public static Map<String, Object> configuration(GatewayConfig config) {
        Map<String, Object> all = config.values();
        Map<String, Object> local = section(all, "local");
        local.put("process", "shared");
        Map<String, Object> limits = section(all, "limits");
        limits.put("max_hops", 100);
        limits.put("max_concurrent_streams", 100_000);
        Map<String, Object> unlimited = new HashMap<>();
        section(limits, "http2_abuse").forEach((key, limit) -> unlimited.put(key, key.endsWith("_rate") ? limit : 0));
        limits.put("http2_abuse", unlimited);
        Map<String, Object> logging = section(all, "logging");
        logging.put("format", "json");
        return Map.of(
                "local",
                local,
                "default_upstream",
                GatewayConfig.LOCAL,
                "limits",
                limits,
                "logging",
                logging,
                "validate",
                "off",
                "answers",
                Map.of("errors", "passed"),
                "connections",
                Map.of("request_body_timeout", "0s", "stream_idle_timeout", "0s", "write_timeout", "0s"));
    }

    /** The upstream that calls it: no limit, retry or ejection of its own, as for models in the gateway's process. */
    public UpstreamConfig upstream() {
        UpstreamConfig some = UpstreamConfig.DEFAULT;
        return DefaultValues.with(
                some,
                "protocol",
                GatewayConfig.UpstreamProtocol.GRPC,
                "endpoints",
                List.of(new ServerAddress.HostAddress(Endpoint.unix(folder.socket()))),
                "dialect",
                GatewayConfig.ServerDialect.GENERIC,
                "timeout",
                config.timeout(),
                "maxRequests",
                MAX_CALLS,
                "checks",
                DefaultValues.with(some.checks(), "unhealthyAfter", 1, "healthyAfter", 1),
                "outliers",
                DefaultValues.with(some.outliers(), "consecutiveFailures", 0),
                "retry",
                DefaultValues.with(some.retry(), "retries", 0, "on", Set.of(), "budget", 0.0));
    }

    @SuppressWarnings("unchecked") // as a configuration's document is made
    private static Map<String, Object> section(Map<String, Object> of, String key) {
        return (Map<String, Object>) Objects.requireNonNull(of.get(key));
    }

    /** The models that are not loaded because they ran at too many crashes. */
    public Set<String> excluded() {
        return Set.copyOf(folder.excludedModels());
    }

    /**
     * Waits until its models of the start are loaded or have failed, hardly longer than a load may take. Blocks.
     *
     * @param ending ends it early
     */
    public void awaitLoaded(BooleanSupplier ending) {
        LocalUpstream.await(loaded, config.loadTimeout().plus(START_MARGIN), ending);
    }

    private void supervise() {
        Duration pause = FIRST_PAUSE;
        try {
            while (closing.getCount() > 0) {
                long begun = System.nanoTime();
                String end = run();
                if (closing.getCount() > 0) {
                    pause = System.nanoTime() - begun > CALM.toNanos() ? FIRST_PAUSE : pause;
                    try {
                        crashed(end, pause);
                    } catch (IOException | RuntimeException e) {
                        LOG.error("the process of the local models is started again; why it ended cannot be read", e);
                    }
                    closing.await(pause.toMillis(), TimeUnit.MILLISECONDS);
                    pause = pause.multipliedBy(2).compareTo(LONGEST_PAUSE) > 0 ? LONGEST_PAUSE : pause.multipliedBy(2);
                }
            }
            folder.delete();
        } catch (InterruptedException | IOException | RuntimeException e) {
            LOG.error("the process of the local models is not started again; restart the gateway", e);
        }
    }

    /** Runs the process once; returns how it ended. */
    private String run() throws InterruptedException {
        try {
            folder.clear();
            // What cleans folders for temporary files may have removed it.
            Files.writeString(folder.configuration(), configuration);
            Process now = launch();
            if (now == null) {
                return "closed";
            }
            try (Reader printed = now.inputReader(StandardCharsets.UTF_8)) {
                new ProcessOutput(now.pid(), () -> loaded.complete(null)).read(printed);
            }
            int code = now.waitFor();
            return code > 128 ? "signal " + (code - 128) : "exit code " + code;
        } catch (IOException e) {
            return "it cannot be started: " + e.getMessage();
        }
    }

    private synchronized @Nullable Process launch() throws IOException {
        if (closing.getCount() == 0) {
            return null;
        }
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(shared(ManagementFactory.getRuntimeMXBean().getInputArguments()));
        command.addAll(folder.options());
        command.addAll(List.of("-XX:-CreateCoredumpOnCrash", PROGRAM, COMMAND));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        // What they say is among the options already.
        builder.environment().keySet().removeAll(Set.of("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"));
        builder.environment().put("CLASSPATH", System.getProperty("java.class.path"));
        process = builder.start();
        return process;
    }

    private void crashed(String end, Duration pause) throws IOException {
        CrashReport report = CrashReport.of(folder.crash());
        List<String> models = report.blamed(RunningModels.at(folder)).stream()
                .map(RunningModel::model)
                .distinct()
                .sorted()
                .toList();
        LOG.atError()
                .addKeyValue("models", models)
                .log(
                        "the process of the local models ended ({}) and is started again in {} s; it ran {}{}",
                        report.cause(end),
                        pause.toSeconds(),
                        models.isEmpty() ? "no model" : "model " + String.join(", ", models),
                        report.text());
        Set<String> excluded = new TreeSet<>(folder.excludedModels());
        for (String model : models) {
            if (crashes.merge(model, 1, Integer::sum) >= MAX_CRASHES) {
                // Who loads it after all has replaced it, and it begins anew.
                crashes.remove(model);
                excluded.add(model);
                LOG.atError()
                        .addKeyValue("model", model)
                        .log(
                                "model '{}' ran at {} crashes of the process of the local models and is not loaded again",
                                model,
                                MAX_CRASHES);
            }
        }
        folder.exclude(excluded);
    }

    /** Ends the process, and waits until it has ended. Blocks. */
    @Override
    public void close() {
        Process last;
        synchronized (this) {
            closing.countDown();
            last = process;
        }
        try {
            if (last != null) {
                last.getOutputStream().close();
            }
            if (!supervisor.join(END) && last != null) {
                LOG.warn("the process of the local models did not end within {} s and is killed", END.toSeconds());
                last.destroyForcibly();
                supervisor.join();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (IOException e) {
            LOG.debug("the process of the local models has ended already", e);
        }
    }

    /** The options of a JVM that hold for a process of its own too. */
    static List<String> shared(List<String> options) {
        return options.stream()
                .filter(option -> OF_ONE_PROCESS.stream().noneMatch(option::startsWith))
                .filter(option -> !option.startsWith("-Xlog") || option.matches(CONSOLE_LOG))
                .toList();
    }

    /**
     * What the JVM has written about a crash.
     *
     * @param lines of its summary; none if it wrote nothing
     * @param thread the name of the thread that crashed; empty if it is not one of Java's
     */
    record CrashReport(List<String> lines, String thread) {
        private static final Pattern THREAD = Pattern.compile("Current thread .* JavaThread \"([^\"]*)\".*");
        private static final Pattern SIGNAL = Pattern.compile("#\\s+(SIG[A-Z]+).*");

        static CrashReport of(Path file) throws IOException {
            if (!Files.exists(file)) {
                return new CrashReport(List.of(), "");
            }
            // It has bytes of native code, too.
            List<String> all =
                    Files.readString(file, StandardCharsets.ISO_8859_1).lines().toList();
            return new CrashReport(
                    all.stream().takeWhile(line -> line.startsWith("#")).toList(), first(THREAD, all, ""));
        }

        private static String first(Pattern pattern, List<String> lines, String other) {
            return lines.stream()
                    .map(pattern::matcher)
                    .filter(Matcher::matches)
                    .map(found -> found.group(1))
                    .findFirst()
                    .orElse(other);
        }

        /** Why the process ended. */
        String cause(String end) {
            return first(SIGNAL, lines, end);
        }

        /** The models that may be the cause: of the thread that crashed or, if it runs none, of all threads. */
        List<RunningModel> blamed(List<RunningModel> running) {
            List<RunningModel> ofThread = running.stream()
                    .filter(each -> each.thread().equals(thread))
                    .toList();
            return ofThread.isEmpty() ? running : ofThread;
        }

        /** The summary for the log; empty if there is none. */
        String text() {
            return lines.stream()
                    .map(line -> line.substring(1).strip())
                    .filter(line -> !line.isEmpty())
                    .reduce("", (text, line) -> text + (text.isEmpty() ? ": " : " ") + line);
        }
    }

    /** Writes what the process of the local models prints into the log of the gateway. Used by one thread. */
    static final class ProcessOutput {
        private static final ObjectMapper JSON = new ObjectMapper();
        /** Begins each line of the JVM's summary of a crash, which its file has, too. */
        private static final String SUMMARY = "#";

        private static final int MAX_LINE = 64 << 10;

        /** Members that each line of this process has. */
        private static final Set<String> OWN = Set.of("time", "level", "logger", "message");

        private static final TypeReference<Map<String, String>> LINE = new TypeReference<>() {};

        private final long pid;
        private final Runnable loaded;

        /** @param loaded called when the process says that its models are loaded */
        ProcessOutput(long pid, Runnable loaded) {
            this.pid = pid;
            this.loaded = loaded;
        }

        /** Reads what is printed, until its end. What native code prints may have no lines: a longer one is cut. */
        void read(Reader printed) throws IOException {
            StringBuilder line = new StringBuilder();
            char[] part = new char[8192];
            for (int length = printed.read(part); length >= 0; length = printed.read(part)) {
                for (int i = 0; i < length; i++) {
                    if (part[i] == '\n') {
                        line(line.toString());
                        line.setLength(0);
                    } else if (line.length() < MAX_LINE) {
                        line.append(part[i]);
                    }
                }
            }
            line(line.toString());
        }

        private void line(String line) {
            // What native code has printed before may have no end.
            if (line.endsWith(LOADED)) {
                loaded.run();
            } else if (line.startsWith("{")) {
                logged(line);
            } else if (!line.isBlank() && !line.startsWith(SUMMARY)) {
                LOG.atInfo().addKeyValue("process", pid).log("{}", line);
            }
        }

        /** A line of its log, in the form of the setting {@code logging.format: json}. */
        private void logged(String line) {
            try {
                Map<String, String> members = JSON.readValue(line, LINE);
                LoggingEventBuilder event = LOG.atLevel(
                                Level.valueOf(Objects.requireNonNullElse(members.get("level"), "INFO")))
                        .addKeyValue("process", pid);
                for (Map.Entry<String, String> member : members.entrySet()) {
                    if (!OWN.contains(member.getKey())) {
                        event = event.addKeyValue(member.getKey(), member.getValue());
                    }
                }
                event.log("{}", members.getOrDefault("message", ""));
            } catch (JsonProcessingException | IllegalArgumentException other) {
                LOG.atInfo().addKeyValue("process", pid).log("{}", line);
            }
        }
    }
}
