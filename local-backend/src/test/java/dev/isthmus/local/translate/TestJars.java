package dev.isthmus.local.translate;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import javax.tools.ToolProvider;

/** Jars of translators, compiled as a user would: outside this build, against the gateway's class path. */
public final class TestJars {
    private static final Path EXAMPLE = Path.of(System.getProperty("isthmus.root"), "config/examples/translator");

    private final Path classes;

    /** Compiles the translators of the tests and of the example into a directory. */
    public TestJars(Path classes) {
        this.classes = classes;
        List<String> arguments = new ArrayList<>(List.of(
                "-proc:none", "-nowarn", "-d", classes.toString(), "-cp", System.getProperty("java.class.path")));
        Stream.of(Path.of("src/test/translators"), EXAMPLE)
                .flatMap(TestJars::files)
                .map(Path::toString)
                .filter(file -> file.endsWith(".java"))
                .forEach(arguments::add);
        int status = ToolProvider.getSystemJavaCompiler().run(null, null, null, arguments.toArray(String[]::new));
        if (status != 0) {
            throw new IllegalStateException("the translators do not compile");
        }
    }

    /** Packs all classes, with services: the names of interfaces and of their providers. */
    public Path jar(Path file, Map<String, String> services) {
        try (JarOutputStream jar = new JarOutputStream(Files.newOutputStream(file))) {
            for (Path each : files(classes).toList()) {
                entry(jar, each.getFileName().toString(), Files.readAllBytes(each));
            }
            for (Map.Entry<String, String> service : services.entrySet()) {
                byte[] providers = service.getValue().getBytes(StandardCharsets.UTF_8);
                entry(jar, "META-INF/services/" + service.getKey(), providers);
            }
            return file;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void entry(JarOutputStream jar, String name, byte[] content) throws IOException {
        jar.putNextEntry(new ZipEntry(name));
        jar.write(content);
        jar.closeEntry();
    }

    private static Stream<Path> files(Path folder) {
        try (Stream<Path> files = Files.list(folder)) {
            return Arrays.stream(files.toArray(Path[]::new)).sorted();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The open files of this process; empty if the system does not list them. */
    public static List<String> openFiles() throws Exception {
        Path descriptors = Path.of("/proc/self/fd");
        List<String> open = new ArrayList<>();
        if (Files.isDirectory(descriptors)) {
            try (Stream<Path> all = Files.list(descriptors)) {
                for (Path each : all.toList()) {
                    open.add(
                            Files.isSymbolicLink(each)
                                    ? Files.readSymbolicLink(each).toString()
                                    : "");
                }
            }
        }
        return open;
    }
}
