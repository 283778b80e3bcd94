package dev.isthmus.gateway;

import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.Layer;

/**
 * The layer that keeps a generation until its last call has ended.
 *
 * @param leave a call has ended
 */
record HeldGeneration(Runnable leave) implements Layer {
    @Override
    public String name() {
        return "generation";
    }

    @Override
    public void ended(Exchange exchange) {
        leave.run();
    }
}
