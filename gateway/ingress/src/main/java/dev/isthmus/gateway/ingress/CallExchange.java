package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.CallContext;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.gateway.net.TimeoutRule;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import org.jspecify.annotations.Nullable;

/** A request that becomes a call, over REST or gRPC: how either ends before its time. */
abstract class CallExchange implements HttpExchange, Reply {
    final IngressSettings settings;
    final CallContext context;
    final Service calls;
    final MemoryBudget.MemoryReservation memory;

    @Nullable
    RequestSink sink;
    /** The whole response was written, or never will be. */
    boolean responded;

    /** @param calls receives the call, or the rejection of the request */
    CallExchange(IngressSettings settings, CallContext context, Service calls) {
        this.settings = settings;
        this.context = context;
        this.calls = calls;
        this.memory = context.memory();
    }

    /** Bytes of the response that were written and not sent yet. */
    abstract long queued();

    /** The response never will be written: releases what is left of request and response. */
    abstract void discard();

    @Override
    public final boolean responded() {
        return responded;
    }

    @Override
    public final void reject(OipException refusal) {
        calls.reject(context, refusal, this);
    }

    @Override
    public final void timedOut(TimeoutRule rule) {
        failCall(new OipException(
                ErrorCode.REQUEST_TIMEOUT, settings.connections().timeouts().describe(rule)));
    }

    @Override
    public final void failCall(OipException failure) {
        if (responded) {
            return;
        }
        if (sink == null && context.operation() == null) {
            reject(failure);
            return;
        }
        context.failed(failure);
        if (sink != null) {
            sink.cancel();
        }
        fail(failure);
    }

    @Override
    public final void writabilityChanged() {
        memory.queued(queued());
        if (!responded && sink != null) {
            sink.onReady();
        }
    }

    @Override
    public final void written() {
        memory.release();
    }

    @Override
    public final void cancel() {
        memory.release();
        if (!responded) {
            responded = true;
            discard();
            if (sink != null) {
                sink.cancel();
            } else if (context.operation() == null) {
                reject(new OipException(
                        ErrorCode.CANCELLED, "the client cancelled the call before its message was complete"));
            }
        }
    }
}
