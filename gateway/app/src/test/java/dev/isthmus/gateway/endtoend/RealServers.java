package dev.isthmus.gateway.endtoend;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/** The real Triton, MLServer and KServe: started once for all test classes, stopped after the last of them. */
final class RealServers implements AutoCloseable {
    private final Path folder;
    final RealServer triton;
    final RealServer mlserver;
    final RealServer kserve;

    private RealServers() throws IOException, InterruptedException {
        Script.Outcome installed = Script.run("install.sh", "triton", "mlserver", "kserve", "client");
        if (installed.status() != 0) {
            throw new IOException(installed.complaint());
        }
        folder = Files.createTempDirectory("isthmus-servers");
        triton = new RealServer("triton", folder);
        mlserver = new RealServer("mlserver", folder);
        kserve = new RealServer("kserve", folder);
    }

    RealServer named(String name) {
        return all().stream()
                .filter(server -> server.name.equals(name))
                .findFirst()
                .orElseThrow();
    }

    void awaitReady() throws Exception {
        for (RealServer server : all()) {
            server.awaitReady();
        }
    }

    private List<RealServer> all() {
        return List.of(triton, mlserver, kserve);
    }

    @Override
    public void close() throws IOException {
        all().parallelStream().forEach(RealServer::close);
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    /** Provides the servers as a test parameter. */
    static final class Shared implements ParameterResolver {
        @Override
        public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
            return parameter.getParameter().getType() == RealServers.class;
        }

        @Override
        public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
            return context.getRoot()
                    .getStore(ExtensionContext.Namespace.create(RealServers.class))
                    .computeIfAbsent(RealServers.class, key -> start(), RealServers.class);
        }

        private static RealServers start() {
            try {
                return new RealServers();
            } catch (IOException e) {
                throw new IllegalStateException(e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException(e);
            }
        }
    }
}
