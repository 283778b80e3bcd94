package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.limit.Admission;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import java.util.Map;

/** A call that has a place in the gateway, which it gives back when it ends or its client goes. */
final class AdmittedCall implements Reply {
    private final Admission.Permit permit;
    private final Reply client;

    AdmittedCall(Admission.Permit permit, Reply client) {
        this.permit = permit;
        this.client = client;
    }

    /** The call's request, which was opened with this as its reply. */
    RequestSink around(RequestSink opened) {
        return new Request(opened);
    }

    @Override
    public boolean writable() {
        return client.writable();
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
        client.readMore();
    }

    @Override
    public void complete() {
        permit.giveBack();
        client.complete();
    }

    @Override
    public void fail(OipException failure) {
        permit.giveBack();
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
        }

        @Override
        public void end() {
            sink.end();
        }

        @Override
        public void cancel() {
            permit.giveBack();
            sink.cancel();
        }

        @Override
        public boolean writable() {
            return sink.writable();
        }

        @Override
        public void resume() {
            sink.resume();
        }
    }
}
