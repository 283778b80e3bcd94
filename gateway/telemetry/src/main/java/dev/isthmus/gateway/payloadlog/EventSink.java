package dev.isthmus.gateway.payloadlog;

/** Where events go. Used by one thread. */
interface EventSink extends AutoCloseable {

    /**
     * Delivers an event, or begins to; the outcome is reported to a {@link DeliveryListener}.
     *
     * @throws InterruptedException if the log is closed meanwhile
     */
    void send(CloudEvent event) throws InterruptedException;

    /** Waits for events that are being delivered; ends at once if the thread is interrupted. */
    @Override
    void close();

    /** Receives the outcome of each event. Thread-safe. */
    interface DeliveryListener {

        void delivered();

        /**
         * The event is lost.
         *
         * @param failure what happened, for the process log
         */
        void lost(LossReason reason, String failure);
    }
}
