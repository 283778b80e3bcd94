package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.oip.OipException;

/**
 * A request that is sent to its server in parts, as the server takes them. What it does not take waits where it was gathered,
 * and the client is to send no more until that has gone. Lives on the call's event loop.
 */
final class RequestUpload implements Subscription {
    private final StreamedRequest request;
    private final Reply client;
    /** Takes nothing until the call is opened. */
    private RequestSink server = RequestSink.ENDED;

    private boolean complete;
    private boolean ended;
    private boolean over;

    /** @param client what becomes of the call; its {@code readMore()} is the client's */
    RequestUpload(StreamedRequest request, Reply client) {
        this.request = request;
        this.client = client;
    }

    /** Opens the call; its end may come before this returns. */
    void open(Call call, Target target, long length) {
        RequestSink opened = target.upstream().inferParts(call, target.model(), length, new UploadReply());
        if (!over) {
            server = opened;
            forward();
        }
    }

    /** More has come, or the server takes more. */
    void forward() {
        while (!over && request.hasPart() && server.isReady()) {
            server.data(request.take());
        }
        if (!over && complete && !ended && !request.hasPart()) {
            ended = true;
            server.end();
        }
    }

    /** All of the request has come. */
    void end() {
        complete = true;
        forward();
    }

    /** Bytes that the server was given and that have not gone out to it. */
    long held() {
        return over ? 0 : server.held();
    }

    /** Whether the client may send more. */
    boolean isReady() {
        return over || !request.hasPart();
    }

    /** Whether all that has come has gone on, and more is to come. */
    boolean waitsForClient() {
        return !complete && !request.hasPart();
    }

    @Override
    public void cancel() {
        if (!over) {
            over = true;
            server.cancel();
        }
    }

    @Override
    public void onReady() {
        if (!over) {
            server.onReady();
        }
    }

    /** What comes back from the server. */
    private final class UploadReply extends ForwardingReply {
        UploadReply() {
            super(client);
        }

        @Override
        public void onReady() {
            forward();
            if (!over && isReady()) {
                super.onReady();
            }
        }

        @Override
        public void complete() {
            over = true;
            super.complete();
        }

        @Override
        public void fail(OipException failure) {
            over = true;
            super.fail(failure);
        }
    }
}
