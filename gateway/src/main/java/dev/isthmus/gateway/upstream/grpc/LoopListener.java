package dev.isthmus.gateway.upstream.grpc;

import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import java.util.concurrent.RejectedExecutionException;

/**
 * Listens to a gRPC call on the event loop of the client's call. gRPC calls back on that loop too, but for the first calls of
 * a channel, which may come from the thread that looked up the host name: those hand over, and so does all that follows.
 */
abstract class LoopListener extends ClientCall.Listener<ByteBuf> {
    private final EventLoop loop;
    private volatile boolean handedOver;

    LoopListener(EventLoop loop) {
        this.loop = loop;
    }

    abstract void gotHeaders(Metadata headers);

    /** @param message taken */
    abstract void gotMessage(ByteBuf message);

    abstract void closed(Status status, Metadata trailers);

    /** The server takes more messages. */
    void becameWritable() {}

    @Override
    public final void onHeaders(Metadata headers) {
        run(() -> gotHeaders(headers));
    }

    @Override
    public final void onMessage(ByteBuf message) {
        run(() -> gotMessage(message));
    }

    @Override
    public final void onClose(Status status, Metadata trailers) {
        run(() -> closed(status, trailers));
    }

    @Override
    public final void onReady() {
        run(this::becameWritable);
    }

    private void run(Runnable callback) {
        if (!handedOver && loop.inEventLoop()) {
            callback.run();
            return;
        }
        handedOver = true;
        try {
            loop.execute(callback);
        } catch (RejectedExecutionException e) {
            // The loop has ended, so nothing runs beside this thread.
            callback.run();
        }
    }
}
