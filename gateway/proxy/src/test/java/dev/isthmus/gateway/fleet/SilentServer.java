package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.upstream.SilentUpstream;

/** A server that is never heard of, for tests of the choice among servers. */
final class SilentServer implements SilentUpstream {
    private volatile boolean closed;

    boolean closed() {
        return closed;
    }

    @Override
    public void close() {
        closed = true;
    }
}
