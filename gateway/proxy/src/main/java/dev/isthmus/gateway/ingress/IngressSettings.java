package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.http2.AbusePolicy;
import dev.isthmus.gateway.net.ConnectionPolicy;
import dev.isthmus.gateway.settings.GatewayConfig.StreamMessageForm;
import dev.isthmus.gateway.settings.HeaderAllowList;

/**
 * What is accepted and how it is answered.
 *
 * @param bodies how large a request's body, or one gRPC message, may be
 * @param maxConcurrentStreams open streams of one HTTP/2 connection
 * @param forwarded the headers that go upstream
 * @param maxHops gateways that a call may come through, this one among them
 * @param streamForm the message that gRPC clients get from ModelStreamInfer
 * @param health how health requests are answered
 * @param compressAbove bytes of a REST response above which it is compressed for a client that takes that; -1 for never
 * @param abuse what a client may cost on one HTTP/2 connection
 * @param connections how many there may be, and how long clients may take
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
    /** Bytes of a request line. */
    static final int MAX_REQUEST_LINE = 8 * 1024;
    /** Bytes of all header fields of a request. */
    static final int MAX_HEADER_BYTES = 16 * 1024;
    /** Header fields of a request. */
    static final int MAX_HEADER_FIELDS = 100;

    /**
     * How health requests are answered.
     *
     * @param body whether with JSON, or with nothing but a status
     * @param notReadyStatus the status of "no"
     */
    public record HealthResponses(boolean body, int notReadyStatus) {
        public static final HealthResponses DEFAULT = new HealthResponses(true, 400);
    }
}
