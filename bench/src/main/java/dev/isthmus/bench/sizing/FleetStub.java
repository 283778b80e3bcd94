package dev.isthmus.bench.sizing;

import com.google.protobuf.MessageLite;
import dev.isthmus.bench.RawMethods;
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
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;

/** The servers of a fleet, in one process and on one event loop. They answer at once, and count requests by method. */
final class FleetStub implements AutoCloseable {
    /** Prefix of the line with the ports. */
    static final String LISTENING = "listening ";

    /** A line for standard input; the answer begins with it and has the number of requests of each method so far. */
    static final String COUNTS = "counts";

    private static final MessageLite INFERRED = RawMethods.response("m", "", new byte[16], 1L, 4L);

    private final EventLoopGroup loop =
            new MultiThreadIoEventLoopGroup(1, Transport.best().ioHandlerFactory());
    private final Map<String, LongAdder> requests = new ConcurrentHashMap<>();
    private final List<Server> servers = new ArrayList<>();

    FleetStub(FleetShape shape) throws IOException {
        for (int server = 0; server < shape.servers(); server++) {
            servers.add(StubMethods.server(loop, new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                    .addService(new StubMethods("stub", "model_repository")
                            .models(shape.on(server))
                            .respond("ModelInfer", message -> INFERRED)
                            .service(method -> requests.computeIfAbsent(method, unseen -> new LongAdder())
                                    .increment())
                            .build())
                    .build()
                    .start());
        }
    }

    /**
     * Runs until the end of standard input, and answers lines {@link #COUNTS}.
     *
     * @param arguments models, servers, upstreams
     */
    public static void main(String[] arguments) throws IOException {
        FleetShape shape = new FleetShape(
                Integer.parseInt(arguments[0]), Integer.parseInt(arguments[1]), Integer.parseInt(arguments[2]));
        try (FleetStub stub = new FleetStub(shape);
                BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            System.out.println(LISTENING
                    + stub.servers.stream()
                            .map(server -> Integer.toString(server.getPort()))
                            .collect(Collectors.joining(" ")));
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                System.out.println(COUNTS + " " + stub.counts());
            }
        }
    }

    /** The number of requests of each method: {@code ModelReady=3 ServerReady=1}. */
    private String counts() {
        return new TreeMap<>(requests)
                .entrySet().stream()
                        .map(method -> method.getKey() + "=" + method.getValue().sum())
                        .collect(Collectors.joining(" "));
    }

    @Override
    public void close() {
        servers.forEach(Server::shutdownNow);
        loop.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }
}
