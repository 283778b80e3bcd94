package dev.isthmus.bench.local;

/** A client with its own connection. All methods are called on its event loop. */
interface WireClient extends AutoCloseable {
    /** Sends a request, and another one after each response until the tour ends. */
    void start(LoopGroup group);

    /** The last response. */
    ServerResponse last();

    @Override
    void close();
}
