package dev.isthmus.gateway.net;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.socket.DuplexChannel;
import io.netty.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * Closes a channel when the last bytes have gone out, without losing them: a socket that is closed while the peer still
 * sends answers with a reset, and a peer may drop what it has not read by then. So first only our direction is closed.
 */
public enum LingeringClose implements ChannelFutureListener {
    INSTANCE;

    /** The peer has this long to close its direction. */
    private static final long MILLIS = 1_000;

    @Override
    public void operationComplete(ChannelFuture written) {
        Channel channel = written.channel();
        if (written.isSuccess() && channel instanceof DuplexChannel socket) {
            socket.shutdownOutput();
            Future<?> late = channel.eventLoop().schedule(() -> channel.close(), MILLIS, TimeUnit.MILLISECONDS);
            channel.closeFuture().addListener(closed -> late.cancel(false));
        } else {
            channel.close();
        }
    }
}
