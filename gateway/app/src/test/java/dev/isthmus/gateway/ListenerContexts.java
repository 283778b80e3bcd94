package dev.isthmus.gateway;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.ingress.ListenerContext;
import dev.isthmus.oip.OipException;

/** The context of a gateway's own listeners, for additional ones. */
public final class ListenerContexts {
    private ListenerContexts() {}

    public static ListenerContext of(Gateway gateway) {
        return new ListenerContext(
                new Service() {
                    @Override
                    public RequestSink open(Call call, Reply reply) {
                        return entered(gateway).entry().calls().open(call, reply);
                    }

                    @Override
                    public void reject(CallContext call, OipException refusal, Reply reply) {
                        entered(gateway).entry().calls().reject(call, refusal, reply);
                    }
                },
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
