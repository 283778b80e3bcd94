package dev.isthmus.gateway.explain;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.message.ServerFeatures;

/** An upstream without servers: it has a name, and fails all calls. */
record UnconnectedUpstream(String name) implements Upstream {

    @Override
    public ServerFeatures peer() {
        return ServerFeatures.LOCAL;
    }

    @Override
    public Subscription send(Call call, UpstreamRequest request, Reply reply) {
        request.release();
        reply.fail(new OipException(ErrorCode.INTERNAL, "upstream '" + name + "' is not connected").confidential());
        return Subscription.NONE;
    }

    @Override
    public void close() {}
}
