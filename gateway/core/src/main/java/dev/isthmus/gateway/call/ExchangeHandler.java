package dev.isthmus.gateway.call;

/** What is behind the layers: it does what a call asks for. */
@FunctionalInterface
public interface ExchangeHandler {

    /**
     * Starts a call that all layers have let pass.
     *
     * @param exchange receives the reply
     * @return receives the request
     * @throws dev.isthmus.oip.OipException if it cannot be done
     */
    RequestSink open(Exchange exchange);
}
