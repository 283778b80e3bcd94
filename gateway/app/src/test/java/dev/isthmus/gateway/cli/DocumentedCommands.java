package dev.isthmus.gateway.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.Gateway;
import dev.isthmus.gateway.cli.MarkdownPage.Block;
import dev.isthmus.gateway.settings.ConfigLoader;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Runs the commands of one page, in a folder with the page's files. {@code isthmus} runs in this process, {@code
 * grpcurl} is {@link GrpcurlCommand}, everything else is run by bash. A gateway started by the page listens on free
 * ports, which replace 8080 and 9901 in commands; {@link ExampleServers} replace the servers that the page names.
 */
final class DocumentedCommands implements AutoCloseable {
    private static final String EMBEDDED =
            "{listeners: [{port: 0}], local: {embedded_models: true}, default_upstream: local}";
    private static final String DATA_ADDRESS = "127.0.0.1:8080";
    private static final String ADMIN_ADDRESS = "127.0.0.1:9901";

    private final Path folder = Files.createTempDirectory("isthmus-docs");
    private final ExampleServers servers = new ExampleServers();
    private @Nullable Gateway gateway;

    DocumentedCommands(MarkdownPage page) throws Exception {
        for (Block block : page.blocks()) {
            if (block.file() != null) {
                Path file = Files.writeString(folder.resolve(block.file()), servers.inPlaceOf(block.text()));
                Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
            }
        }
        for (String shared : List.of("config", "proto", "local-backend")) {
            Files.createSymbolicLink(folder.resolve(shared), MarkdownPage.ROOT.resolve(shared));
        }
    }

    /** The command's output, including errors; fails if the command does. */
    String run(String command) throws Exception {
        List<String> words = words(command);
        return switch (words.get(0)) {
            case "isthmus", "./isthmus" -> isthmus(words.subList(1, words.size()));
            case "grpcurl" -> GrpcurlCommand.of(words).run(gateway().addresses().get(0));
            default -> bash(command);
        };
    }

    private String isthmus(List<String> arguments) throws Exception {
        if (arguments.isEmpty()) {
            StringWriter out = new StringWriter();
            serve(EMBEDDED, folder);
            new Demo(gateway().addresses().get(0), "http://127.0.0.1:9901/#/try", new PrintWriter(out)).run();
            return out.toString();
        }
        if (arguments.get(0).equals("serve")) {
            String file = arguments.get(arguments.indexOf("--config") + 1);
            assertThat(isthmusCommand(List.of("validate", file))).endsWith(": good\n");
            serve(Files.readString(folder.resolve(file)), folder);
            return "";
        }
        return isthmusCommand(arguments);
    }

    private String isthmusCommand(List<String> arguments) throws Exception {
        if (arguments.contains("--to") || arguments.contains("--url")) {
            gateway();
        }
        StringWriter out = new StringWriter();
        Console console = new Console(new PrintWriter(out), new PrintWriter(out), () -> false);
        int code = IsthmusCommand.run(
                console, arguments.stream().map(this::resolved).toArray(String[]::new));
        assertThat(code)
                .as("isthmus %s: %s", arguments, out)
                .isIn(0, arguments.get(0).equals("diff") ? 1 : 0);
        return out.toString().replace(folder + "/", "");
    }

    private String resolved(String argument) {
        Gateway served = gateway;
        if (served != null && argument.endsWith("//" + DATA_ADDRESS)) {
            return "http://127.0.0.1:" + served.addresses().get(0).getPort();
        }
        if (served != null && argument.endsWith("//" + ADMIN_ADDRESS)) {
            return "http://127.0.0.1:" + served.adminAddress().orElseThrow().getPort();
        }
        return argument.endsWith(".yaml") || argument.endsWith(".jsonl") || argument.endsWith(".json")
                ? folder.resolve(argument).toString()
                : argument;
    }

    private void serve(String text, Path where) throws Exception {
        if (gateway != null) {
            gateway.close();
        }
        String config = servers.inPlaceOf(text.replaceAll("port: (8080|9901)\\b", "port: 0"));
        Gateway started = Gateway.start(ConfigLoader.parse("documented.yaml", config, where));
        gateway = started;
        await().atMost(20, TimeUnit.SECONDS)
                .until(() -> bash("curl -s http://" + DATA_ADDRESS + "/v2/health/ready")
                        .contains("true"));
    }

    private Gateway gateway() throws Exception {
        if (gateway == null) {
            serve(EMBEDDED, folder);
        }
        Gateway there = gateway;
        if (there == null) {
            throw new IllegalStateException("no gateway");
        }
        return there;
    }

    private List<String> words(String command) throws Exception {
        // In the folder, since a redirection in the command is one here, too.
        Process split = new ProcessBuilder("bash", "-c", "printf '%s\\0' " + command)
                .directory(folder.toFile())
                .start();
        String words = new String(split.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return List.of(words.split("\0", 0));
    }

    private String bash(String command) throws Exception {
        Gateway served = gateway();
        String text = command.replace(
                DATA_ADDRESS, "127.0.0.1:" + served.addresses().get(0).getPort());
        if (command.contains(ADMIN_ADDRESS)) {
            int admin = served.adminAddress().orElseThrow().getPort();
            text = text.replace(ADMIN_ADDRESS, "127.0.0.1:" + admin);
        }
        Process process = new ProcessBuilder("bash", "-euo", "pipefail", "-c", text)
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as("%s: %s", command, output).isZero();
        return output;
    }

    @Override
    public void close() throws IOException {
        if (gateway != null) {
            gateway.close();
        }
        servers.close();
        List<Path> files = new ArrayList<>();
        try (Stream<Path> all = Files.walk(folder)) {
            all.sorted(Comparator.reverseOrder()).forEach(files::add);
        }
        for (Path file : files) {
            Files.delete(file);
        }
    }
}
