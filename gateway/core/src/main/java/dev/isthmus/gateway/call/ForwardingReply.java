package dev.isthmus.gateway.call;

import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.Wire;
import java.util.Map;

/** A reply that forwards everything to another one. A subclass overrides what it changes. */
public abstract class ForwardingReply implements Reply {
    private final Reply delegate;

    protected ForwardingReply(Reply delegate) {
        this.delegate = delegate;
    }

    protected final Reply delegate() {
        return delegate;
    }

    @Override
    public void headers(Map<String, String> headers) {
        delegate.headers(headers);
    }

    @Override
    public void message(ReplyMessage message) {
        delegate.message(message);
    }

    @Override
    public void complete() {
        delegate.complete();
    }

    @Override
    public void fail(OipException failure) {
        delegate.fail(failure);
    }

    @Override
    public void redirected(OipException failure, ModelRef model) {
        delegate.redirected(failure, model);
    }

    @Override
    public void notSent() {
        delegate.notSent();
    }

    @Override
    public boolean isReady() {
        return delegate.isReady();
    }

    @Override
    public boolean acceptsParts(Wire wire, long length) {
        return delegate.acceptsParts(wire, length);
    }

    @Override
    public void onReady() {
        delegate.onReady();
    }
}
