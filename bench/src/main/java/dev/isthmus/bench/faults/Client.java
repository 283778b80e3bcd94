package dev.isthmus.bench.faults;

/** Sends requests to the gateway without waiting for their answers. Any thread may send. */
interface Client extends AutoCloseable {
    /** Is told once how a request ended, on any thread. */
    interface Ended {
        void ended(Outcome outcome);
    }

    void send(Request request, Ended ended);

    @Override
    void close();
}
