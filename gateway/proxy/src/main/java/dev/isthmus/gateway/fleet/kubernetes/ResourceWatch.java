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
import java.util.function.Function;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Follows the resources of one kind in one namespace on a thread of its own: a list, then watches, each of which
 * continues where the last one ended. If the API server cannot say what has changed since, they are listed again. What
 * was last seen stays in effect while it does not respond.
 *
 * @param <T> what a resource is read into
 */
public final class ResourceWatch<T> implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ResourceWatch.class);
    private static final JsonMapper JSON = new JsonMapper();

    /** The API server ends a watch after this time, and up to a quarter more at random. */
    private static final int WATCH_SECONDS = 120;
    /** Longer than a watch: without changes, nothing may be sent until it ends. */
    private static final Duration IDLE = Duration.ofMinutes(3);

    /** A watch that ends earlier without an event was not ended by its own limit. */
    private static final long LASTING_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final WatchedResources<T> watched;
    private final ApiServer server;
    private final ResourceListener<T> listener;
    private final RandomGenerator random;
    private final WatchBackoff backoff;
    private final Thread thread;
    private volatile boolean closed;

    // Used by the thread only.
    private final Map<String, T> resources = new LinkedHashMap<>();
    private @Nullable String version;
    private @Nullable String problem;

    /**
     * What is watched.
     *
     * @param name for messages, which begin with it: Service 'ml/triton'
     * @param retained what stays in use while it cannot be watched, for messages: its last servers stay in use
     * @param path of the list, with a query
     * @param read reads a resource
     */
    public record WatchedResources<T>(String name, String retained, String path, Function<JsonNode, T> read) {}

    /** Receives the resources. Called by the thread of the watch. */
    public interface ResourceListener<T> {
        void changed(Collection<T> resources);

        /** They could not be listed or watched. The last ones stay in effect. */
        void failed();
    }

    /** Does not start it. */
    public ResourceWatch(
            WatchedResources<T> watched, ApiServer server, ResourceListener<T> listener, RandomGenerator random) {
        this.watched = watched;
        this.server = server;
        this.listener = listener;
        this.random = random;
        backoff = new WatchBackoff(random);
        thread = Thread.ofVirtual().name("isthmus-kubernetes-" + watched.name()).unstarted(this::run);
    }

    /** Starts it. */
    public void start() {
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
            LOG.debug("the watch of {} ends", watched.name());
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
        try (TimedBody body = server.get(watched.path(), IDLE)) {
            list = JSON.readTree(body);
        }
        resources.clear();
        list.path("items").forEach(this::put);
        version = version(list);
        listener.changed(List.copyOf(resources.values()));
    }

    /** Returns whether the next one may follow at once: this one lasted, or had events. */
    private boolean watch() throws IOException, InterruptedException {
        int seconds = WATCH_SECONDS + random.nextInt(WATCH_SECONDS / 4);
        String query = "&watch=true&allowWatchBookmarks=true&timeoutSeconds=" + seconds + "&resourceVersion=" + version;
        long start = System.nanoTime();
        boolean progress = false;
        try (TimedBody body = server.get(watched.path() + query, IDLE);
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
            case "DELETED" ->
                resources.remove(object.path("metadata").path("name").asText());
            default -> {
                // A BOOKMARK has a version only.
            }
        }
        version = version(object);
        if (!type.equals("BOOKMARK")) {
            listener.changed(List.copyOf(resources.values()));
        }
    }

    private void put(JsonNode resource) {
        resources.put(
                resource.path("metadata").path("name").asText(), watched.read().apply(resource));
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
            LOG.warn("{} cannot be watched, {}: {}", watched.name(), watched.retained(), text(failure));
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
            LOG.info("{} is watched again", watched.name());
            problem = null;
        }
    }

    @Override
    public void close() {
        closed = true;
        thread.interrupt();
    }
}
