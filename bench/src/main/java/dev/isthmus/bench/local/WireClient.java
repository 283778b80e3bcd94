package dev.isthmus.bench.local;

/** One client with a connection of its own. All is on its event loop. */
interface WireClient extends AutoCloseable {
    /** Asks, and asks again with each answer, as long as the tour goes on. */
    void start(Tour tour);

    /** The answer that came last. */
    Answer last();

    @Override
    void close();
}
