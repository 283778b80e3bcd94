package dev.isthmus.gateway.config;

import dev.isthmus.gateway.upstream.Endpoint;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What the gateway is told at start.
 *
 * @param upstreams by name
 * @param models by name: the upstream that serves each
 * @param defaultUpstream takes the models that are not listed; null refuses them
 */
public record GatewayConfig(
        List<Listener> listeners,
        Limits limits,
        Map<String, UpstreamConfig> upstreams,
        @Nullable LocalConfig local,
        Map<String, String> models,
        @Nullable String defaultUpstream) {

    /** The reserved name of the local backend among the upstreams. */
    public static final String LOCAL = "local";

    public GatewayConfig {
        listeners = List.copyOf(listeners);
        upstreams = Map.copyOf(upstreams);
        models = Map.copyOf(models);
    }

    /** Without a file: the embedded models, on loopback. */
    public static GatewayConfig embedded() {
        return new GatewayConfig(
                List.of(Listener.DEFAULT), Limits.DEFAULT, Map.of(), LocalConfig.EMBEDDED, Map.of(), LOCAL);
    }

    public GatewayConfig withListener(Listener listener) {
        return new GatewayConfig(List.of(listener), limits, upstreams, local, models, defaultUpstream);
    }

    /**
     * An address that takes REST and gRPC.
     *
     * @param port 0 for any that is free
     */
    public record Listener(String host, int port) {
        public static final Listener DEFAULT = new Listener("127.0.0.1", 8080);
    }

    /**
     * What one client may ask for.
     *
     * @param maxBodyBytes of a request's body or one gRPC message, and of an upstream's answer
     * @param maxConcurrentStreams of one HTTP/2 connection
     */
    public record Limits(int maxBodyBytes, int maxConcurrentStreams) {
        public static final Limits DEFAULT = new Limits(64 << 20, 100);
    }

    /** The protocol that an upstream is spoken to in. */
    public enum Protocol {
        GRPC,
        REST
    }

    /** Whether a REST upstream knows the binary tensor data extension; auto: as its metadata says. */
    public enum BinaryTensorData {
        AUTO,
        TRUE,
        FALSE
    }

    /**
     * A server behind the gateway.
     *
     * @param timeout of one call that has no deadline of its own
     */
    public record UpstreamConfig(
            Protocol protocol,
            List<Endpoint> endpoints,
            BinaryTensorData binaryTensorData,
            Duration timeout,
            Duration connectTimeout) {

        public static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(60);
        public static final Duration DEFAULT_CONNECT_TIMEOUT = Duration.ofSeconds(1);

        public UpstreamConfig {
            endpoints = List.copyOf(endpoints);
        }
    }

    /**
     * The local backend.
     *
     * @param modelRepository a directory in Triton's layout; null for none
     * @param embeddedModels whether digits and simple are served
     * @param threads that run models; 0 for one for each core
     * @param queueSize requests that wait for a thread
     */
    public record LocalConfig(@Nullable Path modelRepository, boolean embeddedModels, int threads, int queueSize) {
        public static final int DEFAULT_QUEUE_SIZE = 256;
        public static final LocalConfig EMBEDDED = new LocalConfig(null, true, 0, DEFAULT_QUEUE_SIZE);
    }
}
