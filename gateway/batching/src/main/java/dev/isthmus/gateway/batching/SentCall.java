package dev.isthmus.gateway.batching;

/** A call at the server. Guarded by its {@link BatchedModel}. */
final class SentCall {
    final int requests;
    final long startNanos;
    /** The requests of the model that were at the server when it was sent, with its own. */
    final int atServer;

    boolean ended;

    SentCall(int requests, long startNanos, int atServer) {
        this.requests = requests;
        this.startNanos = startNanos;
        this.atServer = atServer;
    }
}
