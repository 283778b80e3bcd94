package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.limit.Admission;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import java.util.Map;

/**
 * A call that has a place in the gateway, which it gives back when it ends or its client goes, and counts what it holds of
 * its request until then. Where there is no memory for it, it fails.
 */
final class AdmittedCall implements Reply {
    private final Admission.Permit permit;
    private final MemoryBudget.Hold memory;
    private final Reply client;
    private RequestSink request = RequestSink.ENDED;

    AdmittedCall(Admission.Permit permit, MemoryBudget.Hold memory, Reply client) {
        this.permit = permit;
        this.memory = memory;
        this.client = client;
    }

    /** The call's request, which was opened with this as its reply. */
    RequestSink around(RequestSink opened) {
        request = opened;
        return new Request(opened);
    }

    private void leave() {
        permit.giveBack();
        memory.request(0);
    }

    @Override
    public boolean writable() {
        return client.writable();
    }

    @Override
    public boolean takesParts() {
        return client.takesParts();
    }

    @Override
    public void headers(Map<String, String> headers) {
        client.headers(headers);
    }

    @Override
    public void message(Answer answer) {
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

    private final class Request implements RequestSink {
        private final RequestSink sink;

        Request(RequestSink sink) {
            this.sink = sink;
        }

        @Override
        public void data(ByteBuf chunk) {
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
            sink.end();
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
