package dev.isthmus.gateway.fleet.kubernetes;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MappingIterator;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.isthmus.gateway.fleet.kubernetes.ApiServer.ApiException;
import dev.isthmus.gateway.fleet.kubernetes.ApiServer.ObjectStream;
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

    /** Changes that follow each other faster are reported together, unless no more has arrived. */
    private static final Duration BETWEEN_REPORTS = Duration.ofMillis(100);

    /** Of all resources together, as JSON. */
    private static final long MAX_BYTES = 64 << 20;

    private static final int MAX_RESOURCES = 20_000;

    private final WatchedResources<T> watched;
    private final ApiServer server;
    private final ResourceListener<T> listener;
    private final RandomGenerator random;
    private final WatchBackoff backoff;
    private final Thread thread;
    private volatile boolean closed;

    // Used by the thread only.
    private KnownResources<T> resources = new KnownResources<>();
    private final Report report = new Report();
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
    private boolean round() {
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
            // The thread of the watch would end with it.
            failed(new IOException(fault.toString(), fault));
            return false;
        }
    }

    private void list() throws IOException {
        KnownResources<T> listed = new KnownResources<>();
        String listedVersion = null;
        try (ObjectStream body = server.get(watched.path(), ApiServer.TIMEOUT);
                JsonParser parser = JSON.createParser(body)) {
            if (parser.nextToken() != JsonToken.START_OBJECT) {
                throw new IOException("the API server's response is no list");
            }
            while (parser.nextToken() == JsonToken.FIELD_NAME) {
                String member = parser.currentName();
                JsonToken value = parser.nextToken();
                if (member.equals("items") && value == JsonToken.START_ARRAY) {
                    readItems(body, parser, listed);
                } else if (member.equals("metadata")) {
                    listedVersion = version(JSON.readTree(parser));
                } else {
                    parser.skipChildren();
                }
            }
        }
        version = listedVersion == null ? version(JSON.missingNode()) : listedVersion;
        resources = listed;
        report.now();
    }

    /** One at a time: a list may be long. */
    private void readItems(ObjectStream body, JsonParser parser, KnownResources<T> to) throws IOException {
        while (parser.nextToken() != JsonToken.END_ARRAY) {
            body.allowObject();
            long start = parser.currentLocation().getByteOffset();
            JsonNode item = JSON.readTree(parser);
            to.put(
                    name(item),
                    watched.read().apply(item),
                    parser.currentLocation().getByteOffset() - start);
        }
        body.allowObject();
    }

    /** Returns whether the next one may follow at once. */
    private boolean watch() throws IOException {
        int seconds = WATCH_SECONDS + random.nextInt(WATCH_SECONDS / 4);
        String query = "&watch=true&allowWatchBookmarks=true&timeoutSeconds=" + seconds + "&resourceVersion=" + version;
        long start = System.nanoTime();
        try (ObjectStream body = server.get(watched.path() + query, IDLE);
                MappingIterator<JsonNode> events =
                        JSON.readerFor(JsonNode.class).readValues(body)) {
            body.onPause(report::pending);
            recovered();
            long position = 0;
            while (events.hasNextValue()) {
                JsonNode event = events.nextValue();
                long end = events.getCurrentLocation().getByteOffset();
                apply(event, end - position);
                position = end;
                body.allowObject();
                backoff.reset();
            }
        } finally {
            report.pending();
        }
        if (System.nanoTime() - start < LASTING_NANOS) {
            return false;
        }
        backoff.reset();
        return true;
    }

    private void apply(JsonNode event, long bytes) throws IOException {
        JsonNode object = event.path("object");
        String type = event.path("type").asText();
        if (type.equals("ERROR")) {
            throw new ApiException(
                    object.path("code").asInt(), object.path("message").asText());
        }
        // Listed again if the event cannot be applied.
        version = null;
        switch (type) {
            case "ADDED", "MODIFIED" ->
                resources.put(name(object), watched.read().apply(object), bytes);
            case "DELETED" -> resources.remove(name(object));
            default -> {
                // A BOOKMARK has a version only.
            }
        }
        version = version(object.path("metadata"));
        if (!type.equals("BOOKMARK")) {
            report.changed();
        }
    }

    private static String name(JsonNode resource) {
        return resource.path("metadata").path("name").asText();
    }

    /** Tells the listener of changes: at once if the last ones were a while ago, otherwise of several together. */
    private final class Report {
        private boolean due;
        private long last;

        void changed() {
            due = true;
            if (System.nanoTime() - last >= BETWEEN_REPORTS.toNanos()) {
                now();
            }
        }

        void pending() {
            if (due) {
                now();
            }
        }

        void now() {
            due = false;
            last = System.nanoTime();
            listener.changed(resources.values());
        }
    }

    /** What is known, with the size of each as JSON. */
    private static final class KnownResources<T> {
        private final Map<String, SizedResource<T>> byName = new LinkedHashMap<>();
        private long bytes;

        private record SizedResource<T>(T resource, long bytes) {}

        void put(String name, T resource, long size) throws IOException {
            SizedResource<T> before = byName.put(name, new SizedResource<>(resource, size));
            bytes += size - (before == null ? 0 : before.bytes);
            if (byName.size() > MAX_RESOURCES || bytes > MAX_BYTES) {
                throw new IOException("the API server has " + byName.size() + " resources of " + bytes
                        + " bytes, at most " + MAX_RESOURCES + " of " + MAX_BYTES + " bytes are expected");
            }
        }

        void remove(String name) {
            SizedResource<T> before = byName.remove(name);
            bytes -= before == null ? 0 : before.bytes;
        }

        List<T> values() {
            return byName.values().stream().map(SizedResource::resource).toList();
        }
    }

    private static String version(JsonNode metadata) throws IOException {
        String version = metadata.path("resourceVersion").asText();
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

    /** The time between attempts after failures: doubled with each, up to a limit, half of it at random. */
    static final class WatchBackoff {
        private static final Duration FIRST = Duration.ofMillis(500);
        private static final Duration LIMIT = Duration.ofSeconds(30);

        private final RandomGenerator random;
        private Duration next = FIRST;

        WatchBackoff(RandomGenerator random) {
            this.random = random;
        }

        Duration next() {
            Duration wait = next;
            Duration doubled = next.multipliedBy(2);
            next = doubled.compareTo(LIMIT) > 0 ? LIMIT : doubled;
            return Duration.ofMillis(wait.toMillis() / 2 + random.nextLong(wait.toMillis() / 2 + 1));
        }

        void reset() {
            next = FIRST;
        }
    }
}
