package dev.isthmus.gateway.tls;

import dev.isthmus.gateway.net.Labelled;
import io.netty.handler.ssl.NotSslRecordException;
import io.netty.handler.ssl.SslHandshakeTimeoutException;
import java.nio.channels.ClosedChannelException;
import org.jspecify.annotations.Nullable;

public enum HandshakeResult implements Labelled {
    OK,
    /** Not complete in time. */
    TIMEOUT,
    /** The peer speaks no TLS. */
    PLAIN_TEXT,
    /** The peer closed the connection. */
    CLOSED,
    /** Any other reason: no common version or cipher, a certificate that is missing or refused by either side. */
    FAILED;

    /** @param failure null for none */
    static HandshakeResult of(@Nullable Throwable failure) {
        return switch (failure) {
            case null -> OK;
            case SslHandshakeTimeoutException timeout -> TIMEOUT;
            case NotSslRecordException plain -> PLAIN_TEXT;
            case ClosedChannelException closed -> CLOSED;
            default -> FAILED;
        };
    }
}
