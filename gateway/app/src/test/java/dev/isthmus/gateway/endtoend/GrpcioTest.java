package dev.isthmus.gateway.endtoend;

import static java.util.Objects.requireNonNull;

import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.upstream.grpc.PeerContract;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The gRPC client against grpcio, i.e. gRPC's C core, which Triton, MLServer and KServe use. */
class GrpcioTest extends PeerContract {
    private static @Nullable Process server;
    private static int port;

    @BeforeAll
    static void start() throws Exception {
        Process started = new ProcessBuilder(
                        Script.clientPython(),
                        Script.path("interop/grpcio_server.py").toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        server = started;
        port = Integer.parseInt(requireNonNull(started.inputReader().readLine()));
    }

    @AfterAll
    static void stop() throws Exception {
        Process started = requireNonNull(server);
        // It exits at the end of its input.
        started.getOutputStream().close();
        if (!started.waitFor(20, TimeUnit.SECONDS)) {
            started.destroyForcibly().waitFor();
        }
    }

    @Override
    protected Endpoint server() {
        return new Endpoint("127.0.0.1", port);
    }
}
