package dev.isthmus.bench.faults;

import dev.isthmus.bench.process.BenchException;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The attacked proxies. All have timeouts of 2 s for a request head and 3 s without progress of a body or a response.
 */
enum AttackedProxy {
    /** The gateway with the memory of a small container. */
    SMALL("-Xmx256m -XX:MaxDirectMemorySize=256m"),
    /** The gateway with the JVM's defaults. */
    DEFAULT(""),
    ENVOY("envoy.yaml", "envoy", "-c", "@CONFIG@", "--concurrency", "2", "--disable-hot-restart", "-l", "error"),
    NGINX("nginx.conf", "nginx", "-c", "@CONFIG@", "-p", "@RUN@"),
    HAPROXY("haproxy.cfg", "haproxy", "-db", "-f", "@CONFIG@");

    private final String options;
    private final String file;
    private final List<String> command;

    AttackedProxy(String options) {
        this.options = options;
        this.file = "";
        this.command = List.of();
    }

    AttackedProxy(String file, String... command) {
        this.options = "";
        this.file = file;
        this.command = List.of(command);
    }

    boolean isthmus() {
        return file.isEmpty();
    }

    /** Whether it serves HTTP/1.1 and HTTP/2 on separate ports. */
    boolean twoPorts() {
        return !isthmus();
    }

    /** The name in the report. */
    String label() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Whether its program is installed. */
    boolean installed() {
        return isthmus()
                || Stream.of(System.getenv("PATH").split(File.pathSeparator))
                        .anyMatch(folder -> Files.isExecutable(Path.of(folder, command.getFirst())));
    }

    /**
     * /**
     *
     * @param ports of HTTP/1.1, of HTTP/2, and one to spare
     * @param stubs ports of the servers, by {@link AttackStub.Kind}
     */
    ProcessBuilder program(Path home, Path folder, List<Integer> ports, List<Integer> stubs)
            throws IOException, BenchException {
        if (isthmus()) {
            Path start = home.resolve("gateway/app/target/dist/bin/isthmus");
            if (!Files.isExecutable(start)) {
                throw new BenchException(start + ": the gateway is not packaged");
            }
            Path config = Files.writeString(
                    folder.resolve("isthmus.yaml"), AttackConfig.text(ports.get(0), ports.get(2), stubs));
            ProcessBuilder program = new ProcessBuilder(start.toString(), "serve", "--config", config.toString());
            program.environment().put("ISTHMUS_JAVA_OPTIONS", options);
            return program;
        }
        Map<String, Object> values = Map.of(
                "RUN", folder,
                "CONFIG", folder.resolve(file),
                "PORT", ports.get(0),
                "HTTP2_PORT", ports.get(1),
                "GRPC", stubs.get(AttackStub.Kind.GRPC.ordinal()),
                "REST", stubs.get(AttackStub.Kind.REST.ordinal()));
        // nginx's workers run as another user and write large bodies there.
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        Files.writeString(
                folder.resolve(file),
                filled(Files.readString(home.resolve("bench/peers/faults").resolve(file)), values));
        return new ProcessBuilder(
                command.stream().map(word -> filled(word, values)).toList());
    }

    private static String filled(String text, Map<String, Object> values) {
        String filled = text;
        for (Map.Entry<String, Object> value : values.entrySet()) {
            filled = filled.replace("@" + value.getKey() + "@", value.getValue().toString());
        }
        return filled;
    }
}
