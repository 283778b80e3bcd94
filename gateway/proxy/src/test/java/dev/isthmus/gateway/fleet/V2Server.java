package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.upstream.rest.FakeRestServer;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** A real server that says over REST what it is, and whether it and its models are ready. */
final class V2Server implements AutoCloseable {
    private static final String NOT_READY = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";

    private final String name;
    private final Map<String, Integer> asked = new ConcurrentHashMap<>();
    private final FakeRestServer server;
    private final Endpoint endpoint;
    private volatile boolean ready = true;
    private volatile boolean mute;
    private volatile String notReady = "";

    private V2Server(int port, String name) throws IOException {
        this.name = name;
        this.server = FakeRestServer.on(port, this::answer);
        this.endpoint = server.endpoint();
    }

    /** @param name in its metadata */
    static V2Server ready(String name) throws IOException {
        return new V2Server(0, name);
    }

    static V2Server on(int port, String name) throws IOException {
        return new V2Server(port, name);
    }

    private boolean answer(FakeRestServer.RestRequest request, OutputStream out) throws IOException {
        String path = request.head().split(" ", -1)[1];
        asked.merge(path, 1, Integer::sum);
        if (mute) {
            return true;
        }
        boolean bad = path.equals(notReady) || (path.equals("/v2/health/ready") && !ready);
        String description = "{\"name\":\"" + name + "\",\"version\":\"1\",\"extensions\":[]}";
        FakeRestServer.write(out, bad ? NOT_READY : FakeRestServer.ok(path.equals("/v2") ? description : ""));
        return true;
    }

    Endpoint endpoint() {
        return endpoint;
    }

    String label() {
        return endpoint.authority();
    }

    void ready(boolean now) {
        ready = now;
    }

    /** The only model that is not ready, by the path of its question. */
    void notReady(String path) {
        notReady = path;
    }

    /** Reads from now on, but does not answer. */
    void mute() {
        mute = true;
    }

    int asked(String path) {
        return asked.getOrDefault(path, 0);
    }

    /** Whether its clients have closed their connections. */
    boolean alone() {
        return server.open() == 0;
    }

    @Override
    public void close() throws IOException {
        server.close();
    }
}
