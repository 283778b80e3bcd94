package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.coding.InflationLimits;
import dev.isthmus.gateway.http2.AbuseLimits;
import dev.isthmus.gateway.http2.AbuseLimits.BucketLimit;
import dev.isthmus.gateway.http2.AbuseListener;
import dev.isthmus.gateway.http2.AbusePolicy;
import dev.isthmus.gateway.net.ConnectionPolicy;
import dev.isthmus.gateway.settings.AuthenticationConfig;
import dev.isthmus.gateway.settings.AuthenticationConfig.ApiKeyConfig;
import dev.isthmus.gateway.settings.AuthenticationConfig.ForwardedCredential;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.StreamMessageForm;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.gateway.settings.Http2Abuse;
import dev.isthmus.gateway.settings.ResponseConfig;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Settings for requests and responses.
 *
 * @param bodies limits on a request's body, or one gRPC message
 * @param maxConcurrentStreams open streams of one HTTP/2 connection
 * @param forwarded the headers that are forwarded upstream
 * @param maxHops gateways that a call may pass through, including this one
 * @param streamForm the response message of ModelStreamInfer
 * @param health the form of health responses
 * @param tellsCause whether the response of a failed call has the header {@link #CAUSE}
 * @param compressAbove size in bytes above which a REST response is compressed if the client accepts it; -1 for never
 * @param abuse limits against abuse of one HTTP/2 connection
 * @param connections limits on the number of connections and on clients' time
 */
public record IngressSettings(
        BodyLimits bodies,
        int maxConcurrentStreams,
        HeaderAllowList forwarded,
        int maxHops,
        StreamMessageForm streamForm,
        HealthResponses health,
        boolean tellsCause,
        long compressAbove,
        AbusePolicy abuse,
        ConnectionPolicy connections) {
    /** Says why a call failed. */
    private static final String CAUSE = "isthmus-cause";
    /** Maximum length of a request line, in bytes. */
    static final int MAX_REQUEST_LINE = 8 * 1024;
    /** Maximum size of all header fields of a request, in bytes. */
    static final int MAX_HEADER_BYTES = 16 * 1024;
    /** Maximum number of header fields of a request. */
    static final int MAX_HEADER_FIELDS = 100;

    /**
     * The settings of a configuration.
     *
     * @param abuse told of HTTP/2 connections that are closed because of a limit
     */
    public static IngressSettings of(GatewayConfig config, AbuseListener abuse, ConnectionPolicies connections) {
        ResponseConfig responses = config.answers();
        GatewayConfig.Limits limits = config.limits();
        return new IngressSettings(
                new BodyLimits(limits.maxBodySize(), limits.maxManagementSize(), limits.maxDecompressionRatio()),
                limits.maxConcurrentStreams(),
                forwarded(config),
                limits.maxHops(),
                responses.streamForm(),
                new HealthResponses(
                        responses.healthBody() == GatewayConfig.HealthBody.JSON, responses.notReadyStatus()),
                responses.cause(),
                responses.compress() ? responses.compressAbove() : -1,
                abuse(limits.http2Abuse(), abuse),
                connections.of(config));
    }

    /** The header that says why a call has failed; empty if it has not, or if clients are not told. */
    Map<String, String> causeHeader(CallContext call) {
        return tellsCause && call.cause() != null ? Map.of(CAUSE, call.cause().label()) : Map.of();
    }

    private static AbusePolicy abuse(Http2Abuse config, AbuseListener listener) {
        AbuseLimits limits = new AbuseLimits(
                new BucketLimit(config.streamResetBurst(), config.streamResetRate()),
                new BucketLimit(config.streamErrorBurst(), config.streamErrorRate()),
                new BucketLimit(config.controlFrameBurst(), config.controlFrameRate()),
                config.controlFramesPerData(),
                config.maxQueuedFrames());
        return new AbusePolicy(limits, listener);
    }

    /** The headers that are forwarded: without credentials, if so configured, and callers' names that clients sent. */
    private static HeaderAllowList forwarded(GatewayConfig config) {
        AuthenticationConfig authentication = config.authentication();
        if (authentication == null) {
            return config.headers().forwarded();
        }
        Set<String> removed = new HashSet<>();
        removed.add(authentication.forward().principalHeader());
        if (authentication.forward().credential() == ForwardedCredential.REMOVED) {
            ApiKeyConfig keys = authentication.apiKeys();
            if (keys != null) {
                removed.add(keys.header());
            }
            if (keys != null || !authentication.jwt().isEmpty()) {
                removed.add("authorization");
            }
        }
        return config.headers().forwarded().without(removed);
    }

    /**
     * The form of health responses.
     *
     * @param body whether they have a JSON body, or only a status
     * @param notReadyStatus the status for "not ready"
     */
    public record HealthResponses(boolean body, int notReadyStatus) {
        public static final HealthResponses DEFAULT = new HealthResponses(true, 400);
    }

    /**
     * Limits on the size of bodies and messages.
     *
     * @param maxBytes of inference, generate and load requests, which may contain files; also after decompression
     * @param maxManagementBytes of any other operation
     * @param maxRatio of decompressed to compressed bytes
     */
    public record BodyLimits(long maxBytes, long maxManagementBytes, int maxRatio) {
        private static final long MANAGEMENT = 64 << 10;

        public BodyLimits {
            maxManagementBytes = Math.min(maxManagementBytes, maxBytes);
        }

        /** The defaults with another limit for the largest bodies. */
        public static BodyLimits of(long maxBytes) {
            return new BodyLimits(maxBytes, MANAGEMENT, InflationLimits.DEFAULT_RATIO);
        }

        /** The limit on the body of a request. */
        long maxBytes(Operation operation) {
            return operation.largeBody() ? maxBytes : maxManagementBytes;
        }

        InflationLimits large() {
            return new InflationLimits(maxBytes, maxRatio);
        }

        InflationLimits small() {
            return new InflationLimits(maxManagementBytes, maxRatio);
        }
    }

    /**
     * What a listener offers to web pages.
     *
     * @param grpcWeb whether it serves gRPC-Web
     * @param cors which pages of other origins may use it; null for none
     */
    public record BrowserAccess(boolean grpcWeb, @Nullable CorsPolicy cors) {
        /** No gRPC-Web, and no pages of other origins. */
        public static final BrowserAccess NONE = new BrowserAccess(false, null);
    }
}
