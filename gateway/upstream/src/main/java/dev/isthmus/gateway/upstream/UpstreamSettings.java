package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.http2.AbusePolicy;
import dev.isthmus.gateway.net.ConnectionTable;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.gateway.tls.ClientTls.TlsServer;
import java.time.Duration;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The settings of every remote server.
 *
 * @param name of its upstream
 * @param endpoint an IP address and port, never a host name
 * @param authority host and port to send as the authority
 * @param pathPrefix what the paths of REST requests begin with; empty for nothing
 * @param tls null for plain text
 * @param timeout from sending the request to the end of the response, for calls without a deadline of their own
 * @param maxMessageBytes limit of a response to inference and generate
 * @param maxDocumentBytes limit of other responses: they are parsed into objects, each of which may have one byte
 * @param returnedHeaders response headers that are passed to clients
 * @param abuse limits for HTTP/2 abuse by the server
 * @param connections where open connections are listed
 * @param ending whether the gateway is shutting down, which then explains why connections close
 */
public record UpstreamSettings(
        String name,
        Endpoint endpoint,
        String authority,
        String pathPrefix,
        @Nullable TlsServer tls,
        Duration timeout,
        Duration connectTimeout,
        long maxMessageBytes,
        long maxDocumentBytes,
        HeaderAllowList returnedHeaders,
        AbusePolicy abuse,
        ConnectionTable connections,
        BooleanSupplier ending) {

    /** Several times what a server says of itself or of a model. */
    public static final int MAX_METADATA_BYTES = 1 << 20;

    public UpstreamSettings {
        if (!endpoint.literal()) {
            throw new IllegalArgumentException("a server of upstream '" + name
                    + "' needs an IP address, got the host name '" + endpoint.host() + "'");
        }
    }

    /** Settings that pass no response headers to clients. */
    public static UpstreamSettings of(
            String name, Endpoint endpoint, Duration timeout, Duration connectTimeout, long maxMessageBytes) {
        return new UpstreamSettings(
                name,
                endpoint,
                endpoint.authority(),
                "",
                null,
                timeout,
                connectTimeout,
                maxMessageBytes,
                maxMessageBytes,
                HeaderAllowList.of(List.of()),
                AbusePolicy.NONE,
                new ConnectionTable(),
                () -> false);
    }

    /** The nanoseconds a call has left: until its own deadline, or else the timeout. Negative after the deadline. */
    public long nanosLeft(Call call) {
        return call.hasDeadline() ? call.deadlineNanos() - System.nanoTime() : timeout.toNanos();
    }

    /**
     * As {@link #nanosLeft}, for a stream, which lasts as long as its client wants: {@link Long#MAX_VALUE} without a
     * deadline.
     */
    public long nanosLeftOfStream(Call call) {
        return call.hasDeadline() ? nanosLeft(call) : Long.MAX_VALUE;
    }

    /** Limit of a response about readiness or metadata. */
    public long maxMetadataBytes() {
        return Math.min(MAX_METADATA_BYTES, maxDocumentBytes);
    }

    /** The connect timeout as {@code CONNECT_TIMEOUT_MILLIS} expects it. */
    public int connectTimeoutMillis() {
        return Math.clamp(connectTimeout.toMillis(), 1, Integer.MAX_VALUE);
    }
}
