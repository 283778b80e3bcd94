package dev.isthmus.gateway.upstream;

import dev.isthmus.oip.ModelRef;

/** A server in this process. Its state can be read at any time, on any thread, and needs no probes. */
public interface InProcessServer extends Upstream {

    /** Why it is not ready, for operators; empty if it is. */
    String obstacle();

    /** Whether the model is ready; false for an unknown model. */
    boolean ready(ModelRef model);
}
