package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.OipException;

/**
 * A request that is sent to its server in parts, as fast as the server accepts them. The rest waits where it was
 * gathered, and the client is not read until it has been sent. Confined to the call's event loop.
 */
final class RequestUpload implements Subscription {
    private final StreamedRequest request;
    private final Reply client;
    private final UpstreamRequest.InferenceInParts server;
    private Subscription inFlight = Subscription.NONE;

    private boolean complete;
    private boolean ended;
    private boolean done;

    /** @param client receives the outcome of the call; its {@code onReady()} resumes reading from the client */
    RequestUpload(StreamedRequest request, UpstreamRequest.InferenceInParts server, Reply client) {
        this.request = request;
        this.server = server;
        this.client = client;
    }

    /** Opens the call, which may end before this returns. */
    void open(Call call, Upstream upstream) {
        inFlight = upstream.send(call, server, new UploadReply()).cancelIf(done);
        forward();
    }

    /** Forwards what was received, as far as the server accepts it. */
    void forward() {
        while (!done && request.hasPart() && server.isReady()) {
            server.data(request.take());
        }
        if (!done && complete && !ended && !request.hasPart()) {
            ended = true;
            server.end();
        }
    }

    /** The request is complete. */
    void end() {
        complete = true;
        forward();
    }

    /** Bytes that were passed to the server's stream and not sent yet. */
    long held() {
        return done ? 0 : server.held();
    }

    /** Whether more of the request should be read from the client. */
    boolean isReady() {
        return done || !request.hasPart();
    }

    /** Whether everything received has been forwarded, and more is expected. */
    boolean waitsForClient() {
        return !complete && !request.hasPart();
    }

    @Override
    public void cancel() {
        if (!done) {
            done = true;
            inFlight.cancel();
        }
    }

    @Override
    public void onReady() {
        if (!done) {
            inFlight.onReady();
        }
    }

    /** The reply from the server. */
    private final class UploadReply extends ForwardingReply {
        UploadReply() {
            super(client);
        }

        @Override
        public void onReady() {
            forward();
            if (!done && isReady()) {
                super.onReady();
            }
        }

        @Override
        public void complete() {
            done = true;
            super.complete();
        }

        @Override
        public void fail(OipException failure) {
            done = true;
            super.fail(failure);
        }
    }
}
