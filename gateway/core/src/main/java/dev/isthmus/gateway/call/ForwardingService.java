package dev.isthmus.gateway.call;

import dev.isthmus.gateway.settings.Permission;
import dev.isthmus.oip.OipException;

/** A layer: forwards to the next service whatever it does not override. */
public abstract class ForwardingService implements Service {
    private final Service next;

    /** @param next the service to forward to */
    protected ForwardingService(Service next) {
        this.next = next;
    }

    @Override
    public RequestSink open(Call call, Reply reply) {
        return next.open(call, reply);
    }

    @Override
    public void checkHead(CallContext call, Permission permission) {
        next.checkHead(call, permission);
    }

    @Override
    public void reject(CallContext call, OipException refusal, Reply reply) {
        next.reject(call, refusal, reply);
    }
}
