package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.limit.Admission;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.Wire;
import io.netty.buffer.ByteBuf;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A call with a place in the gateway once its request is complete, so that no client holds a place by sending nothing; a
 * stream of requests has one from its first message on. It is given back when the call ends or its client goes; until then
 * the call counts what it holds of its request. Where there is no place or no memory, the call fails.
 */
final class AdmittedCall implements Reply {
    private final Admission admission;
    private final boolean stream;
    private final MemoryBudget.MemoryReservation memory;
    private final Reply client;
    private RequestSink request = RequestSink.ENDED;
    private Admission.@Nullable Permit permit;
    private boolean over;

    /** @param stream whether the request is a stream of messages */
    AdmittedCall(Admission admission, boolean stream, MemoryBudget.MemoryReservation memory, Reply client) {
        this.admission = admission;
        this.stream = stream;
        this.memory = memory;
        this.client = client;
    }

    /** The call's request, which was opened with this as its reply. */
    RequestSink around(RequestSink opened) {
        request = opened;
        return new AdmittedSink(opened);
    }

    private void leave() {
        over = true;
        if (permit != null) {
            permit.giveBack();
        }
        memory.request(0);
    }

    @Override
    public boolean writable() {
        return client.writable();
    }

    @Override
    public boolean takesParts(Wire wire, long length) {
        return client.takesParts(wire, length);
    }

    @Override
    public void headers(Map<String, String> headers) {
        client.headers(headers);
    }

    @Override
    public void message(ReplyMessage answer) {
        client.message(answer);
    }

    @Override
    public void readMore() {
        // What waited has gone: it holds less.
        memory.request(request.held());
        client.readMore();
    }

    @Override
    public void complete() {
        leave();
        client.complete();
    }

    @Override
    public void fail(OipException failure) {
        leave();
        client.fail(failure);
    }

    private final class AdmittedSink implements RequestSink {
        private final RequestSink sink;

        AdmittedSink(RequestSink sink) {
            this.sink = sink;
        }

        /** Takes a place, unless the call has one: false where there is none. */
        private boolean placed() {
            if (permit == null && !over) {
                try {
                    permit = admission.enter();
                } catch (OipException refused) {
                    sink.cancel();
                    fail(refused);
                    return false;
                }
            }
            return true;
        }

        @Override
        public void data(ByteBuf chunk) {
            if (stream && !placed()) {
                chunk.release();
                return;
            }
            sink.data(chunk);
            try {
                memory.request(sink.held());
            } catch (OipException refused) {
                sink.cancel();
                fail(refused);
            }
        }

        @Override
        public void end() {
            if (stream || placed()) {
                sink.end();
            }
        }

        @Override
        public void cancel() {
            leave();
            sink.cancel();
        }

        @Override
        public boolean writable() {
            return sink.writable();
        }

        @Override
        public boolean inOnePiece() {
            return sink.inOnePiece();
        }

        @Override
        public void resume() {
            sink.resume();
        }
    }
}
