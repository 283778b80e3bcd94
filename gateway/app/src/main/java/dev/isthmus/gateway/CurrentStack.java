package dev.isthmus.gateway;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.settings.Permission;
import dev.isthmus.oip.OipException;
import java.util.function.Supplier;

/** The stack of the generation that is current when a call starts. Thread-safe. */
record CurrentStack(Supplier<Generation> current) implements Service {

    /** The current generation; it stays open until the call has ended. */
    private Generation enter() {
        Generation now = current.get();
        while (!now.enter()) {
            // It was retired after it was read, so there is a newer one.
            now = current.get();
        }
        return now;
    }

    @Override
    public RequestSink open(Call call, Reply reply) {
        return enter().entry().calls().open(call, reply);
    }

    @Override
    public void checkHead(CallContext call, Permission permission) {
        current.get().entry().calls().checkHead(call, permission);
    }

    @Override
    public void reject(CallContext call, OipException refusal, Reply reply) {
        enter().entry().calls().reject(call, refusal, reply);
    }
}
