package dev.isthmus.gateway.upstream;

import dev.isthmus.oip.ModelRef;

/** A server in this process: how it is can be read at any time, on any thread, and needs no checks. */
public interface InProcessServer extends Upstream {

    /** Whether it is ready. */
    boolean ready();

    /** Whether the model is ready on it; false for one that it does not have. */
    boolean ready(ModelRef model);
}
