package dev.isthmus.bench.faults;

/** Sends requests to the gateway without waiting for responses. Thread-safe. */
interface Client extends AutoCloseable {
    /** Notified once of a request's outcome, on any thread. */
    interface Ended {
        void ended(Outcome outcome);
    }

    void send(Request request, Ended ended);

    @Override
    void close();
}
