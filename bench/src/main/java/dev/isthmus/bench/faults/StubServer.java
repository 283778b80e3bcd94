package dev.isthmus.bench.faults;

import dev.isthmus.bench.StubMethods;
import dev.isthmus.gateway.net.Transport;
import io.grpc.Server;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** A V2 server in its own process, so that it can be killed and stopped by signals. */
final class StubServer implements AutoCloseable {
    /** Prefix of the line that is printed with the port when it listens. */
    static final String LISTENING = "listening ";

    static final String FAIL = "fail";
    static final String SLOW = "slow";
    static final String DRAIN = "drain";

    private final EventLoopGroup loop =
            new MultiThreadIoEventLoopGroup(1, Transport.best().ioHandlerFactory());
    private final StubService service;
    private final Server server;

    /** Listens on loopback; port 0 selects any free port. */
    StubServer(String name, Path folder, int port, long serviceMicros) throws IOException {
        this(name, folder, new InetSocketAddress(InetAddress.getLoopbackAddress(), port), serviceMicros);
    }

    private StubServer(String name, Path folder, InetSocketAddress address, long serviceMicros) throws IOException {
        service = new StubService(name, folder, serviceMicros, loop.next());
        server = StubMethods.server(loop, address)
                .addService(service.definition())
                .build()
                .start();
    }

    /**
     * Runs until the end of standard input, so that no stub outlives its driver. A line {@code fail} makes inference
     * fail with UNAVAILABLE, {@code slow} makes it take {@value StubService#SLOW_FACTOR} times as long, any other line ends either; each line is echoed. {@code drain} ends the process with the calls
     * that have begun.
     *
     * @param arguments name, folder of the ledgers, port (0: any), service time in microseconds, address
     */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        try (StubServer stub = new StubServer(
                        arguments[0],
                        Path.of(arguments[1]),
                        new InetSocketAddress(arguments[4], Integer.parseInt(arguments[2])),
                        Long.parseLong(arguments[3]));
                BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            System.out.println(LISTENING + stub.port());
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                if (line.equals(DRAIN)) {
                    stub.drain();
                    return;
                }
                stub.service.failing(line.equals(FAIL));
                stub.service.slow(line.equals(SLOW));
                System.out.println(line);
            }
        }
    }

    /** Sends GOAWAY and returns when the calls that have begun have ended. */
    private void drain() throws InterruptedException {
        server.shutdown();
        server.awaitTermination();
    }

    int port() {
        return server.getPort();
    }

    StubService service() {
        return service;
    }

    @Override
    public void close() {
        server.shutdownNow();
        loop.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }
}
