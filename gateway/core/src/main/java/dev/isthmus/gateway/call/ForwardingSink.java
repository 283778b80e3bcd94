package dev.isthmus.gateway.call;

import io.netty.buffer.ByteBuf;

/** A sink that forwards everything to another one. A layer overrides what it changes. */
public abstract class ForwardingSink implements RequestSink {
    private final RequestSink delegate;

    /** @param delegate the sink to forward to */
    protected ForwardingSink(RequestSink delegate) {
        this.delegate = delegate;
    }

    /** The sink to forward to. */
    protected final RequestSink delegate() {
        return delegate;
    }

    @Override
    public void data(ByteBuf chunk) {
        delegate.data(chunk);
    }

    @Override
    public void end() {
        delegate.end();
    }

    @Override
    public void cancel() {
        delegate.cancel();
    }

    @Override
    public boolean isReady() {
        return delegate.isReady();
    }

    @Override
    public boolean inOnePiece() {
        return delegate.inOnePiece();
    }

    @Override
    public long held() {
        return delegate.held();
    }

    @Override
    public void onReady() {
        delegate.onReady();
    }
}
