package dev.isthmus.gateway;

import dev.isthmus.gateway.ingress.ListenerContext;

/** What a gateway's own listeners lead to, for further ones. */
public final class ListenerContexts {
    private ListenerContexts() {}

    public static ListenerContext of(Gateway gateway) {
        return new ListenerContext(
                (call, reply) -> entered(gateway).entry().rest().open(call, reply),
                (call, reply) -> entered(gateway).entry().grpc().open(call, reply),
                () -> gateway.current().entry().settings().get());
    }

    private static Generation entered(Gateway gateway) {
        Generation generation = gateway.current();
        if (!generation.enter()) {
            throw new IllegalStateException("the configuration was replaced");
        }
        return generation;
    }
}
