package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.net.FailureReason;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import io.netty.channel.Channel;
import java.io.IOException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Logs what ends the connections of clients: clients cause I/O errors at will, all else is a fault of the gateway. */
final class ConnectionFailureLog {
    private static final Logger LOG = LoggerFactory.getLogger(ConnectionFailureLog.class);

    private ConnectionFailureLog() {}

    static void failed(Channel channel, Throwable cause) {
        if (cause instanceof IOException) {
            LOG.debug("connection of client {} failed: {}", channel.remoteAddress(), FailureReason.of(cause));
        } else {
            LOG.atError()
                    .addMarker(RepeatingLogEvent.MARKER)
                    .addKeyValue("peer", channel.remoteAddress())
                    .setCause(cause)
                    .log("internal error on a client's connection; please report it");
        }
    }
}
