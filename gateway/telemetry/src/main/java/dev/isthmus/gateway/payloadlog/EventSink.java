package dev.isthmus.gateway.payloadlog;

import dev.isthmus.gateway.net.Labelled;

/** Where events go. Used by one thread. */
interface EventSink extends AutoCloseable {

    /**
     * Delivers an event, or begins to; the outcome is reported to the {@link PayloadLog}, on any thread.
     *
     * @throws InterruptedException if the log is closed meanwhile
     */
    void send(CloudEvent event) throws InterruptedException;

    /** Waits for events that are being delivered; ends at once if the thread is interrupted. */
    @Override
    void close();

    /** Why an event was not logged. */
    enum LossReason implements Labelled {
        /** Too much waits to be written: the sink is slower than the calls. */
        FULL,
        /** The file cannot be written, or the sink cannot be reached. */
        IO_ERROR,
        /** The sink answered with a status other than 2xx. */
        REJECTED,
        /** The log was closed before it was written. */
        CLOSED,
        /** The gateway failed to encode it. */
        FAULT
    }
}
