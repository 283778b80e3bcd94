package dev.isthmus.bench.process;

import java.io.IOException;
import java.io.InputStream;
import java.net.BindException;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Pattern;

/** Ports of this machine, and blocking requests to them beside a load. */
public final class Loopback {
    private static final int LIMIT_MILLIS = 10_000;
    private static final int FIRST_PORT = 22_000;
    /** The first of {@code ip_local_port_range}. */
    private static final int FIRST_PORT_OF_LINUX = 32_768;

    private static final Set<Integer> GIVEN = ConcurrentHashMap.newKeySet();

    private Loopback() {}

    /**
     * A port that nothing listens on, another one each time. It is below those that Linux gives to connections and to
     * listeners without a port of their own, so that none of them takes it before a process that is told of it.
     */
    public static int freePort() throws IOException {
        while (true) {
            int port = ThreadLocalRandom.current().nextInt(FIRST_PORT, FIRST_PORT_OF_LINUX);
            if (!GIVEN.add(port)) {
                continue;
            }
            try (ServerSocket free = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                return free.getLocalPort();
            } catch (BindException taken) {
                // Another one is free.
            }
        }
    }

    /**
     * The body of a response, over a connection of its own.
     *
     * @throws IOException if the status is not 200, too
     */
    public static String get(int port, String path) throws IOException {
        HttpURLConnection connection = (HttpURLConnection)
                URI.create("http://127.0.0.1:" + port + path).toURL().openConnection();
        connection.setConnectTimeout(LIMIT_MILLIS);
        connection.setReadTimeout(LIMIT_MILLIS);
        connection.setRequestProperty("Connection", "close");
        if (connection.getResponseCode() != 200) {
            throw new IOException(path + ": 200 is expected, got " + connection.getResponseCode());
        }
        try (InputStream body = connection.getInputStream()) {
            return new String(body.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    /** The sum of a metric over all series whose labels contain a text, in Prometheus's text format; 0 if there is none. */
    public static double sum(String metrics, String name, String label) {
        Pattern line = Pattern.compile("^" + Pattern.quote(name) + "(\\{[^}]*})? (\\S+)(?: \\d+)?$", Pattern.MULTILINE);
        return line.matcher(metrics)
                .results()
                .filter(found -> label.isEmpty() || found.group().contains(label))
                .mapToDouble(found -> Double.parseDouble(found.group(2)))
                .sum();
    }
}
