package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.RequestOutline;
import dev.isthmus.transcoder.ResponseForm;
import dev.isthmus.transcoder.message.ServerFeatures;
import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

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

    /**
     * A request whose parts may be forwarded to a server before it is complete. Its head is complete and valid; the body
     * keeps receiving parts, validates them, and holds them until they are taken from here or the body is released.
     */
    interface StreamedRequest {

        /**
         * The message that is sent to a server in parts.
         *
         * @param length of the whole message on the server's wire, in bytes
         * @param form the form in which the client wants the server's response
         */
        record StreamedMessage(long length, ResponseForm form) {}

        /** Length of the client's whole body in bytes, as counted by limits. */
        long length();

        RequestOutline outline();

        /**
         * Starts sending to a server. Called at most once: from then on parts can be taken, in that server's form.
         *
         * @param model the model to request from the server
         * @return null if the server needs a form that cannot be produced in parts: the body then gathers the request
         * @throws dev.isthmus.oip.OipException if the request cannot be expressed for the server
         */
        @Nullable
        StreamedMessage start(ServerFeatures peer, ModelRef model);

        /** Whether a part can be taken; never before {@link #start}. */
        boolean hasPart();

        /** Takes all bytes that can be forwarded now, owned by the caller; empty if there are none. */
        ByteBuf take();
    }
}
