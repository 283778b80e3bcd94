package dev.isthmus.gateway.config;

import dev.isthmus.gateway.call.HeaderNames;
import dev.isthmus.gateway.upstream.Endpoint;
import dev.isthmus.transcoder.NonFinite;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What the gateway is told at start.
 *
 * @param headers the headers that are passed on
 * @param answers how answers are written
 * @param upstreams by name
 * @param models by name: the upstream that serves each
 * @param defaultUpstream takes the models that are not listed; null refuses them
 */
public record GatewayConfig(
        List<Listener> listeners,
        Limits limits,
        Headers headers,
        Answers answers,
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
                List.of(Listener.DEFAULT),
                Limits.DEFAULT,
                Headers.DEFAULT,
                Answers.DEFAULT,
                Map.of(),
                LocalConfig.EMBEDDED,
                Map.of(),
                LOCAL);
    }

    public GatewayConfig withListener(Listener listener) {
        return new GatewayConfig(
                List.of(listener), limits, headers, answers, upstreams, local, models, defaultUpstream);
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

    /**
     * The headers that are passed on between client and upstream, whichever protocol each of them speaks.
     *
     * @param forwarded of requests
     * @param returned of answers, gRPC's trailers among them
     */
    public record Headers(HeaderNames forwarded, HeaderNames returned) {
        public static final Headers DEFAULT = new Headers(
                HeaderNames.of(List.of("traceparent", "tracestate", "baggage", "x-request-id", "authorization")),
                HeaderNames.of(
                        List.of("traceparent", "tracestate", "x-request-id", "retry-after", "server-timing", "ce-*")));
    }

    /**
     * How answers are written for clients that do not say.
     *
     * @param nonFinite NaN and the infinities as JSON
     * @param streamForm the message that gRPC clients get from ModelStreamInfer
     * @param compressAbove bytes of a REST response above which it is compressed for a client that takes that
     * @param compress whether it is at all
     * @param healthBody of health answers
     * @param notReadyStatus HTTP status of "not ready": 400, as the protocol and Triton have it, or 503, as load balancers do
     */
    public record Answers(
            NonFinite nonFinite,
            StreamForm streamForm,
            int compressAbove,
            boolean compress,
            HealthBody healthBody,
            int notReadyStatus) {
        public static final Answers DEFAULT =
                new Answers(NonFinite.TOKEN, StreamForm.TRITON, 1024, true, HealthBody.JSON, 400);
    }

    /** The body of health answers, of which clients look at the status. */
    public enum HealthBody {
        JSON,
        EMPTY
    }

    /** The message of a stream's answers. */
    public enum StreamForm {
        TRITON,
        OIP
    }

    /** How a server speaks the protocol; auto: as its name in its metadata says. */
    public enum ServerDialect {
        AUTO,
        TRITON,
        MLSERVER,
        KSERVE,
        GENERIC
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
     * @param timeout of one call that has no deadline of its own; streams have none
     * @param sharedMemory whether clients may refer to memory that they share with the server
     */
    public record UpstreamConfig(
            Protocol protocol,
            List<Endpoint> endpoints,
            BinaryTensorData binaryTensorData,
            Duration timeout,
            Duration connectTimeout,
            ServerDialect dialect,
            boolean sharedMemory) {

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
