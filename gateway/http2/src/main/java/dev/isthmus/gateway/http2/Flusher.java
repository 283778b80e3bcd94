package dev.isthmus.gateway.http2;

import io.netty.util.concurrent.EventExecutor;

/** Flushes written frames to the socket in one call: after a read, or in the next task of the event loop. */
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

    /** Schedules a flush: a frame was written, or queued data became sendable. */
    void schedule() {
        if (!dirty) {
            dirty = true;
            if (!reading) {
                loop.execute(this);
            }
        }
    }

    /** Defers flushes until {@link #readComplete}. */
    void readBegins() {
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
                sender.writeQueued();
            } finally {
                // Writes that the flush itself triggers are flushed by a task of their own.
                dirty = false;
            }
            writer.flush();
            sender.notifyWritable();
        }
    }
}
