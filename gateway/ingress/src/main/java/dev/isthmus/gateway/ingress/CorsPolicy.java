package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.settings.CorsConfig;
import dev.isthmus.gateway.settings.OriginPattern;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.handler.codec.http.HttpHeaderNames;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Which web pages of other origins may use a listener (Fetch Standard, "HTTP CORS protocol"). */
public final class CorsPolicy {
    /** Request headers that the gateway reads. */
    private static final String REQUEST_HEADERS = "accept, authorization, baggage, content-type, grpc-timeout, "
            + "inference-header-content-length, isthmus-stream-form, traceparent, tracestate, triton_grpc_error, "
            + "x-api-key, x-grpc-web, x-request-id, x-request-timeout-ms, x-user-agent";
    /** Response headers that the gateway sends, other than those that every page may read. */
    private static final String RESPONSE_HEADERS = "allow, grpc-accept-encoding, grpc-encoding, grpc-message, "
            + "grpc-status, inference-header-content-length, retry-after, www-authenticate, x-request-id";

    private static final String METHODS = "GET, POST";
    private static final String PREFIX = "access-control-";
    private static final String ALLOW_ORIGIN = HttpHeaderNames.ACCESS_CONTROL_ALLOW_ORIGIN.toString();
    private static final String VARY = HttpHeaderNames.VARY.toString();
    private static final String ORIGIN = HttpHeaderNames.ORIGIN.toString();

    private final List<OriginPattern> origins;
    private final boolean all;
    private final boolean credentials;
    private final String requestHeaders;
    private final String responseHeaders;
    private final String maxAge;
    private final Counter allowed;
    private final Counter refused;

    /**
     * The policy of this configuration.
     *
     * @param meters count preflight requests
     */
    public CorsPolicy(CorsConfig config, MeterRegistry meters) {
        origins = config.origins();
        all = origins.stream().anyMatch(OriginPattern::isAll);
        credentials = config.credentials();
        requestHeaders = joined(REQUEST_HEADERS, config.headers());
        responseHeaders = joined(RESPONSE_HEADERS, config.exposedHeaders());
        maxAge = Long.toString(config.maxAge().toSeconds());
        allowed = preflights(meters, "allowed");
        refused = preflights(meters, "refused");
    }

    private static Counter preflights(MeterRegistry meters, String result) {
        return Counter.builder("isthmus.cors.preflights")
                .description("Preflight requests of browsers, which are no calls: allowed, or refused because of the"
                        + " page's origin")
                .tag("result", result)
                .register(meters);
    }

    private static String joined(String first, List<String> more) {
        return more.isEmpty() ? first : first + ", " + String.join(", ", more);
    }

    /** Whether a browser asks whether a page may send a request (CORS-preflight request). */
    static boolean isPreflight(RequestHead head) {
        return head.method().equals("OPTIONS")
                && head.field(HttpHeaderNames.ORIGIN) != null
                && head.field(HttpHeaderNames.ACCESS_CONTROL_REQUEST_METHOD) != null;
    }

    /** The response to a preflight request: an error for an origin that is not allowed. */
    RestResponse preflight(RequestHead head) {
        String origin = head.field(HttpHeaderNames.ORIGIN);
        if (origin == null || !allows(origin)) {
            refused.increment();
            return RestResponse.error(new OipException(
                    ErrorCode.PERMISSION_DENIED,
                    "header Origin: one of the origins that the gateway allows is expected, got '" + origin + "'"));
        }
        allowed.increment();
        return new RestResponse(
                200,
                Unpooled.EMPTY_BUFFER,
                Map.of(
                        HttpHeaderNames.ACCESS_CONTROL_ALLOW_METHODS.toString(), METHODS,
                        HttpHeaderNames.ACCESS_CONTROL_ALLOW_HEADERS.toString(), requestHeaders,
                        HttpHeaderNames.ACCESS_CONTROL_MAX_AGE.toString(), maxAge));
    }

    /**
     * The headers of all responses to a request.
     *
     * @param origin of the page; null if the request has none
     */
    Map<String, String> headers(@Nullable String origin) {
        Map<String, String> headers = new LinkedHashMap<>();
        boolean varies = !all || credentials;
        if (origin != null && allows(origin)) {
            headers.put(ALLOW_ORIGIN, varies ? origin : "*");
            headers.put(HttpHeaderNames.ACCESS_CONTROL_EXPOSE_HEADERS.toString(), responseHeaders);
            if (credentials) {
                headers.put(HttpHeaderNames.ACCESS_CONTROL_ALLOW_CREDENTIALS.toString(), "true");
            }
        }
        if (varies) {
            headers.put(VARY, ORIGIN);
        }
        return headers;
    }

    private boolean allows(String origin) {
        for (OriginPattern each : origins) {
            if (each.matches(origin)) {
                return true;
            }
        }
        return false;
    }

    /**
     * Adds headers to a response.
     *
     * @param headers as {@link #headers} returns them; what the upstream said about origins does not count
     */
    static RestResponse add(RestResponse response, Map<String, String> headers) {
        Map<String, String> all = new LinkedHashMap<>();
        response.headers().forEach((name, value) -> {
            if (!name.equals(ALLOW_ORIGIN) && !name.equals(PREFIX + "allow-credentials")) {
                all.put(name, value);
            }
        });
        headers.forEach((name, value) ->
                all.merge(name, value, (before, ours) -> name.equals(VARY) ? before + ", " + ours : ours));
        return new RestResponse(response.status(), response.body(), all, response.id());
    }

    /**
     * A preflight request of a browser. {@link CorsPolicy} answers it at once: it is no call, and needs no credential, which
     * browsers do not send with it.
     */
    static final class PreflightExchange implements HttpExchange {
        private final ResponseWriter writer;
        private final CorsPolicy policy;
        private boolean responded;

        PreflightExchange(ResponseWriter writer, CorsPolicy policy) {
            this.writer = writer;
            this.policy = policy;
        }

        @Override
        public void open(RequestHead head, Channel channel) {
            respond(policy.preflight(head));
        }

        @Override
        public void reject(OipException refusal) {
            respond(RestResponse.error(refusal));
        }

        private void respond(RestResponse response) {
            responded = true;
            writer.respond(response);
        }

        @Override
        public void data(ByteBuf chunk) {
            chunk.release();
        }

        @Override
        public boolean responded() {
            return responded;
        }
    }
}
