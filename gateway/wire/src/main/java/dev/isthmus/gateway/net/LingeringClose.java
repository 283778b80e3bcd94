package dev.isthmus.gateway.net;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.socket.DuplexChannel;
import io.netty.channel.unix.Socket;
import io.netty.channel.unix.UnixChannel;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.concurrent.Future;
import java.io.IOException;
import java.nio.channels.NotYetConnectedException;
import java.util.concurrent.TimeUnit;

/**
 * Closes a channel after its last write without losing data. A socket that is closed while the peer is still sending
 * responds with a TCP reset, and the peer may then discard data that it has not read. So output is shut down first.
 */
public enum LingeringClose implements ChannelFutureListener {
    INSTANCE;

    /** Time for the peer to close its side. */
    private static final long MILLIS = 1_000;

    @Override
    public void operationComplete(ChannelFuture written) {
        Channel channel = written.channel();
        if (written.isSuccess() && channel instanceof DuplexChannel socket) {
            endOutput(socket);
            Future<?> late = channel.eventLoop().schedule(() -> channel.close(), MILLIS, TimeUnit.MILLISECONDS);
            channel.closeFuture().addListener(closed -> late.cancel(false));
        } else {
            channel.close();
        }
    }

    /** Over TLS a message ends the output, so that the client can tell the end from a cut connection. */
    private static void endOutput(DuplexChannel socket) {
        SslHandler tls = socket.pipeline().get(SslHandler.class);
        if (tls == null) {
            shutDown(socket);
        } else {
            tls.closeOutbound().addListener(sent -> shutDown(socket));
        }
    }

    /** Nothing waits to be written, so the socket alone is shut down: Netty would make a stack trace for what waits. */
    private static void shutDown(DuplexChannel channel) {
        if (channel instanceof UnixChannel unix && unix.fd() instanceof Socket socket) {
            try {
                socket.shutdown(false, true);
            } catch (IOException | NotYetConnectedException reset) {
                channel.close();
            }
        } else {
            channel.shutdownOutput();
        }
    }
}
