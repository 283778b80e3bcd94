package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.http2.AbusePolicy;
import dev.isthmus.gateway.net.ConnectionPolicy;
import dev.isthmus.gateway.settings.GatewayConfig.StreamMessageForm;
import dev.isthmus.gateway.settings.HeaderAllowList;

/**
 * Settings for requests and responses.
 *
 * @param bodies limits on a request's body, or one gRPC message
 * @param maxConcurrentStreams open streams of one HTTP/2 connection
 * @param forwarded the headers that are forwarded upstream
 * @param maxHops gateways that a call may pass through, including this one
 * @param streamForm the response message of ModelStreamInfer
 * @param health the form of health responses
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
        long compressAbove,
        AbusePolicy abuse,
        ConnectionPolicy connections) {
    /** Maximum length of a request line, in bytes. */
    static final int MAX_REQUEST_LINE = 8 * 1024;
    /** Maximum size of all header fields of a request, in bytes. */
    static final int MAX_HEADER_BYTES = 16 * 1024;
    /** Maximum number of header fields of a request. */
    static final int MAX_HEADER_FIELDS = 100;

    /**
     * The form of health responses.
     *
     * @param body whether they have a JSON body, or only a status
     * @param notReadyStatus the status for "not ready"
     */
    public record HealthResponses(boolean body, int notReadyStatus) {
        public static final HealthResponses DEFAULT = new HealthResponses(true, 400);
    }
}
