package dev.isthmus.gateway.call;

import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.Wire;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A reply that forwards everything to another one. A subclass overrides what it changes. */
public abstract class ForwardingReply implements Reply {
    private final Reply delegate;
    /** Headers that are held back; null if they are forwarded at once. */
    private @Nullable Map<String, String> held;

    protected ForwardingReply(Reply delegate) {
        this.delegate = delegate;
    }

    protected final Reply delegate() {
        return delegate;
    }

    /** Holds headers back from now on, as it is not known whether the response is used; drops those that it holds. */
    public final void holdHeaders() {
        held = Map.of();
    }

    /** Forwards the headers that were held back, and those that follow. */
    public final void passHeaders() {
        Map<String, String> all = held;
        held = null;
        if (all != null && !all.isEmpty()) {
            delegate.headers(all);
        }
    }

    @Override
    public void headers(Map<String, String> headers) {
        if (held == null) {
            delegate.headers(headers);
        } else if (!headers.isEmpty()) {
            Map<String, String> all = new LinkedHashMap<>(held);
            all.putAll(headers);
            held = all;
        }
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
