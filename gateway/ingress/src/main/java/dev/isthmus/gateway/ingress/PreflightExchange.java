package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.net.TimeoutRule;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;

/**
 * A preflight request of a browser. {@link CorsPolicy} answers it at once: it is no call, and needs no credential, which
 * browsers do not send with it.
 */
final class PreflightExchange implements HttpExchange {
    private final ResponseWriter writer;
    private final CorsPolicy policy;
    private boolean responded;

    PreflightExchange(ResponseWriter writer, CorsPolicy policy) {
        this.writer = writer;
        this.policy = policy;
    }

    @Override
    public void open(RequestHead head, Channel channel) {
        respond(policy.preflight(head));
    }

    @Override
    public void reject(OipException refusal) {
        respond(RestResponse.error(refusal));
    }

    private void respond(RestResponse response) {
        responded = true;
        writer.respond(response);
    }

    @Override
    public void data(ByteBuf chunk) {
        chunk.release();
    }

    @Override
    public void end() {}

    @Override
    public boolean paused() {
        return false;
    }

    @Override
    public boolean responded() {
        return responded;
    }

    @Override
    public void timedOut(TimeoutRule rule) {}

    @Override
    public void failCall(OipException failure) {}

    @Override
    public void writabilityChanged() {}

    @Override
    public void written() {}

    @Override
    public void cancel() {}
}
