package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.Wire;
import java.util.Map;

/**
 * A request that goes on to its server in parts, as the server takes them. What it does not take waits where it was gathered,
 * and the client is to send no more until that has gone. Lives on the call's event loop.
 */
final class RequestUpload extends ForwardingReply implements Subscription {
    private final StreamedRequest passing;
    /** Takes nothing until the call is opened. */
    private RequestSink server = RequestSink.ENDED;

    private boolean complete;
    private boolean ended;
    private boolean over;

    /** @param answers what becomes of the call; its {@code readMore()} is the client's */
    RequestUpload(StreamedRequest passing, Reply answers) {
        super(answers);
        this.passing = passing;
    }

    /** Opens the call; its end may come before this returns. */
    void open(Call call, Target target, long length) {
        RequestSink opened = target.upstream().inferParts(call, target.model(), length, this);
        if (!over) {
            server = opened;
            move();
        }
    }

    /** More has come, or the server takes more. */
    void move() {
        while (!over && passing.waits() && server.writable()) {
            server.data(passing.take());
        }
        if (!over && complete && !ended && !passing.waits()) {
            ended = true;
            server.end();
        }
    }

    /** All of the request has come. */
    void end() {
        complete = true;
        move();
    }

    /** Bytes that the server was given and that have not gone out to it. */
    long held() {
        return over ? 0 : server.held();
    }

    /** Whether the client may send more. */
    boolean takesMore() {
        return over || !passing.waits();
    }

    /** Whether all that has come has gone on, and more is to come. */
    boolean waitsForClient() {
        return !complete && !passing.waits();
    }

    @Override
    public void cancel() {
        if (!over) {
            over = true;
            server.cancel();
        }
    }

    @Override
    public void resume() {
        if (!over) {
            server.resume();
        }
    }

    @Override
    public void readMore() {
        move();
        if (!over && takesMore()) {
            super.readMore();
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
