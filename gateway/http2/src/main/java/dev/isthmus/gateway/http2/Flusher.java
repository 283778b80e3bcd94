package dev.isthmus.gateway.http2;

import io.netty.util.concurrent.EventExecutor;

/** Hands what is written to the socket once: after a read, or at the end of the turn of the loop. */
final class Flusher implements Runnable {
    private final EventExecutor loop;
    private final FrameWriter writer;
    private final OutboundFlowControl sender;
    private boolean reading;
    private boolean dirty;

    Flusher(EventExecutor loop, FrameWriter writer, OutboundFlowControl sender) {
        this.loop = loop;
        this.writer = writer;
        this.sender = sender;
    }

    /** Something has been written, or can be. */
    void touch() {
        if (!dirty) {
            dirty = true;
            if (!reading) {
                loop.execute(this);
            }
        }
    }

    /** Until {@link #readComplete} nothing is flushed. */
    void reading() {
        reading = true;
    }

    void readComplete() {
        reading = false;
        run();
    }

    @Override
    public void run() {
        if (dirty) {
            try {
                sender.pump();
            } finally {
                // What the flush itself sets off comes in a turn of its own.
                dirty = false;
            }
            writer.flush();
            sender.notifyWritable();
        }
    }
}
