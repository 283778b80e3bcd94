package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.ForwardingService;
import dev.isthmus.gateway.call.ForwardingSink;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.limit.Admission;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The layer that limits concurrent calls, of all callers and of each, and the memory of their requests. A call acquires a concurrency permit when
 * its request is complete, so that no client holds one by sending nothing; a stream of requests acquires it with its
 * first message. The permit is released when the call ends or its client disconnects; until then the call counts the
 * memory of its request. Without a permit or memory, the call fails. Health and metadata requests are always admitted.
 */
final class AdmissionControl extends ForwardingService {
    private final Admission admission;

    AdmissionControl(Service next, Admission admission) {
        super(next);
        this.admission = admission;
    }

    @Override
    public RequestSink open(Call call, Reply reply) {
        if (!call.operation().needsPermit()) {
            return super.open(call, reply);
        }
        String caller = call.context().principal().name();
        try {
            admission.check(caller);
        } catch (OipException refused) {
            reply.fail(refused);
            return RequestSink.ENDED;
        }
        boolean stream = call.operation() instanceof Operation.InferStream;
        AdmittedReply admitted = new AdmittedReply(caller, stream, call.memory(), reply);
        return admitted.wrap(super.open(call, admitted));
    }

    /** One admitted call. Confined to its event loop. */
    private final class AdmittedReply extends ForwardingReply implements LongSupplier {
        private final String caller;
        private final boolean stream;
        private final MemoryBudget.MemoryReservation memory;
        private RequestSink request = RequestSink.ENDED;
        private Admission.@Nullable Permit permit;
        private boolean ended;

        /**
         * A call without a permit.
         *
         * @param caller name of the authenticated caller; empty if there is none
         * @param stream whether the request is a stream of messages
         */
        AdmittedReply(String caller, boolean stream, MemoryBudget.MemoryReservation memory, Reply client) {
            super(client);
            this.caller = caller;
            this.stream = stream;
            this.memory = memory;
        }

        /** Wraps the call's request, which was opened with this as its reply. */
        RequestSink wrap(RequestSink opened) {
            request = opened;
            memory.requestHeld(this);
            return new AdmittedSink(opened);
        }

        /** What the request holds. */
        @Override
        public long getAsLong() {
            return ended ? 0 : request.held();
        }

        private void releasePermit() {
            ended = true;
            if (permit != null) {
                permit.release();
            }
            memory.request(0);
        }

        @Override
        public void onReady() {
            // Buffered bytes were sent: the request holds less.
            memory.request(request.held());
            super.onReady();
        }

        @Override
        public void complete() {
            releasePermit();
            super.complete();
        }

        @Override
        public void fail(OipException failure) {
            releasePermit();
            super.fail(failure);
        }

        private final class AdmittedSink extends ForwardingSink {
            AdmittedSink(RequestSink sink) {
                super(sink);
            }

            /** Acquires a permit, unless the call has one; returns false if there is none and the call has failed. */
            private boolean permitted() {
                if (permit == null && !ended) {
                    try {
                        permit = admission.acquire(caller);
                    } catch (OipException refused) {
                        super.cancel();
                        fail(refused);
                        return false;
                    }
                }
                return true;
            }

            @Override
            public void data(ByteBuf chunk) {
                if (stream && !permitted()) {
                    chunk.release();
                    return;
                }
                super.data(chunk);
                try {
                    memory.request(held());
                } catch (OipException refused) {
                    super.cancel();
                    fail(refused);
                }
            }

            @Override
            public void end() {
                if (stream || permitted()) {
                    super.end();
                }
            }

            @Override
            public void cancel() {
                releasePermit();
                super.cancel();
            }
        }
    }
}
