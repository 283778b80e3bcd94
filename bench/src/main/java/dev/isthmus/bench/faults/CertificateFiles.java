package dev.isthmus.bench.faults;

import dev.isthmus.bench.process.BenchException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Two certificates of one issuer, each with a key (EC, P-256) that is new at each replacement. One has plain files that
 * are replaced by renaming; the other's files are reached through a symbolic link to a folder, as those of a Kubernetes
 * Secret. Needs the program openssl, version 3.
 */
record CertificateFiles(Path folder) {
    static final String RENAMED = "renamed.test";
    static final String LINKED = "linked.test";
    private static final List<String> FILES = List.of("tls.crt", "tls.key");

    /** Makes the issuer and the first certificates. */
    void create() throws IOException, BenchException, InterruptedException {
        Files.createDirectories(folder);
        openssl("-subj", "/CN=issuer", "-keyout", path("ca.key"), "-out", path("ca.crt"));
        rename();
        link();
    }

    Path issuer() {
        return folder.resolve("ca.crt");
    }

    /** The setting {@code tls} of a listener. */
    static String setting() {
        List<String> certificates = new ArrayList<>();
        for (String name : List.of(RENAMED, LINKED)) {
            certificates.add("{certificate: tls/" + name + "/tls.crt, key: tls/" + name + "/tls.key}");
        }
        return "tls: {certificates: [" + String.join(", ", certificates) + "]}";
    }

    /** Replaces both certificates. */
    void replace() throws IOException, BenchException, InterruptedException {
        rename();
        link();
    }

    private void rename() throws IOException, BenchException, InterruptedException {
        Path made = issue(RENAMED);
        Path used = Files.createDirectories(folder.resolve(RENAMED));
        for (String file : FILES) {
            move(made.resolve(file), used.resolve(file));
        }
    }

    /** As the kubelet does: {@code tls.crt -> ..data/tls.crt} stays, and {@code ..data} is moved to the new folder. */
    private void link() throws IOException, BenchException, InterruptedException {
        Path made = issue(LINKED);
        Path used = Files.createDirectories(folder.resolve(LINKED));
        for (String file : FILES) {
            if (!Files.isSymbolicLink(used.resolve(file))) {
                Files.createSymbolicLink(used.resolve(file), Path.of("..data", file));
            }
        }
        move(Files.createSymbolicLink(used.resolve("..data_tmp"), made), used.resolve("..data"));
    }

    private static void move(Path from, Path to) throws IOException {
        Files.move(from, to, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    private Path issue(String name) throws IOException, BenchException, InterruptedException {
        Path made = Files.createTempDirectory(folder, name);
        openssl(
                "-subj",
                "/CN=" + name,
                "-addext",
                "subjectAltName=DNS:" + name,
                "-addext",
                "basicConstraints=critical,CA:FALSE",
                "-CA",
                path("ca.crt"),
                "-CAkey",
                path("ca.key"),
                "-keyout",
                made.resolve("tls.key").toString(),
                "-out",
                made.resolve("tls.crt").toString());
        return made;
    }

    private String path(String name) {
        return folder.resolve(name).toString();
    }

    private static void openssl(String... further) throws IOException, BenchException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
                "-days",
                "2"));
        command.addAll(Arrays.asList(further));
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        if (process.waitFor() != 0) {
            throw new BenchException("exit code " + process.exitValue() + " of " + String.join(" ", command));
        }
    }
}
