package dev.isthmus.gateway.fleet.kubernetes;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MappingIterator;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Follows the EndpointSlices of one Service on a thread of its own: a list, then watches, each of which continues where
 * the last one ended. If the API server cannot say what has changed since, they are listed again. What was last seen
 * stays in effect while it does not respond.
 */
final class EndpointSliceWatch implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(EndpointSliceWatch.class);
    private static final JsonMapper JSON = new JsonMapper();

    /** The API server ends a watch after this time, and up to a quarter more at random. */
    private static final int WATCH_SECONDS = 120;
    /** Longer than a watch: without changes, nothing may be sent until it ends. */
    private static final Duration IDLE = Duration.ofMinutes(3);

    /** A watch that ends earlier without an event was not ended by its own limit. */
    private static final long LASTING_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final String name;
    private final String path;
    private final ApiServer server;
    private final SliceListener listener;
    private final RandomGenerator random;
    private final WatchBackoff backoff;
    private final Thread thread;
    private volatile boolean closed;

    // Used by the thread only.
    private final Map<String, EndpointSlice> slices = new LinkedHashMap<>();
    private @Nullable String version;
    private @Nullable String problem;

    /** Receives the slices. Called by the thread of the watch. */
    interface SliceListener {
        void changed(Collection<EndpointSlice> slices);

        /** They could not be listed or watched. The last ones stay in effect. */
        void failed();
    }

    EndpointSliceWatch(
            String namespace, String service, ApiServer server, SliceListener listener, RandomGenerator random) {
        name = namespace + "/" + service;
        path = "/apis/discovery.k8s.io/v1/namespaces/" + namespace
                + "/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3D" + service;
        this.server = server;
        this.listener = listener;
        this.random = random;
        backoff = new WatchBackoff(random);
        thread = Thread.ofVirtual().name("isthmus-kubernetes-" + name).unstarted(this::run);
    }

    void start() {
        thread.start();
    }

    private void run() {
        try {
            while (!closed) {
                if (!round()) {
                    Thread.sleep(backoff.next());
                }
            }
        } catch (InterruptedException e) {
            LOG.debug("the watch of Service '{}' ends", name);
        }
    }

    /** A list if one is needed, and a watch. Returns whether to go on at once. */
    private boolean round() throws InterruptedException {
        try {
            if (version == null) {
                list();
            }
            return watch();
        } catch (IOException e) {
            if (!closed) {
                failed(e);
            }
            return false;
        } catch (RuntimeException fault) {
            // Thrown, it would end the watch.
            failed(new IOException(fault.toString(), fault));
            return false;
        }
    }

    private void list() throws IOException, InterruptedException {
        JsonNode list;
        try (TimedBody body = server.get(path, IDLE)) {
            list = JSON.readTree(body);
        }
        slices.clear();
        list.path("items").forEach(this::put);
        version = version(list);
        listener.changed(List.copyOf(slices.values()));
    }

    /** Returns whether the next one may follow at once: this one lasted, or had events. */
    private boolean watch() throws IOException, InterruptedException {
        int seconds = WATCH_SECONDS + random.nextInt(WATCH_SECONDS / 4);
        String query = "&watch=true&allowWatchBookmarks=true&timeoutSeconds=" + seconds + "&resourceVersion=" + version;
        long start = System.nanoTime();
        boolean progress = false;
        try (TimedBody body = server.get(path + query, IDLE);
                MappingIterator<JsonNode> events =
                        JSON.readerFor(JsonNode.class).readValues(body)) {
            recovered();
            while (events.hasNextValue()) {
                apply(events.nextValue());
                progress = true;
            }
        }
        if (progress || System.nanoTime() - start >= LASTING_NANOS) {
            backoff.reset();
            return true;
        }
        return false;
    }

    private void apply(JsonNode event) throws IOException {
        JsonNode object = event.path("object");
        String type = event.path("type").asText();
        if (type.equals("ERROR")) {
            throw new ApiException(
                    object.path("code").asInt(), object.path("message").asText());
        }
        switch (type) {
            case "ADDED", "MODIFIED" -> put(object);
            case "DELETED" -> slices.remove(object.path("metadata").path("name").asText());
            default -> {
                // A BOOKMARK has a version only.
            }
        }
        version = version(object);
        if (!type.equals("BOOKMARK")) {
            listener.changed(List.copyOf(slices.values()));
        }
    }

    private void put(JsonNode slice) {
        EndpointSlice read = EndpointSlice.of(slice);
        slices.put(read.name(), read);
    }

    private static String version(JsonNode object) throws IOException {
        String version = object.path("metadata").path("resourceVersion").asText();
        if (!version.matches("[0-9A-Za-z_.-]+")) {
            throw new IOException("the API server's response has no resource version");
        }
        return version;
    }

    private void failed(IOException failure) {
        if (failure instanceof ApiException answered) {
            version = null;
            if (answered.status() == ApiException.GONE) {
                return;
            }
        }
        String kind = failure instanceof ApiException answered ? "status " + answered.status() : "no response";
        if (!kind.equals(problem)) {
            LOG.warn("Service '{}' cannot be watched, its last servers stay in use: {}", name, text(failure));
            problem = kind;
        }
        listener.failed();
    }

    /** The cause says more than the message if that does not repeat it. */
    private static String text(IOException failure) {
        Throwable cause = failure.getCause();
        String message = failure.getMessage() == null ? failure.toString() : failure.getMessage();
        boolean repeated = cause == null || message.contains(String.valueOf(cause.getMessage()));
        return repeated ? message : message + ": " + cause;
    }

    private void recovered() {
        if (problem != null) {
            LOG.info("Service '{}' is watched again", name);
            problem = null;
        }
    }

    @Override
    public void close() {
        closed = true;
        thread.interrupt();
    }
}
