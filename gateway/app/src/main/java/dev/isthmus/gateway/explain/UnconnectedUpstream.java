package dev.isthmus.gateway.explain;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.ServerFeatures;

/** An upstream without servers: it has a name, and fails all calls. */
record UnconnectedUpstream(String name) implements Upstream {

    @Override
    public ServerFeatures peer() {
        return ServerFeatures.LOCAL;
    }

    @Override
    public Subscription infer(Call call, ModelRef model, InferMessage message, Reply reply) {
        message.release();
        return fail(reply);
    }

    @Override
    public Subscription serverReady(Call call, Reply reply) {
        return fail(reply);
    }

    @Override
    public Subscription serverMetadata(Call call, Reply reply) {
        return fail(reply);
    }

    @Override
    public Subscription modelReady(Call call, ModelRef model, Reply reply) {
        return fail(reply);
    }

    @Override
    public Subscription modelMetadata(Call call, ModelRef model, Reply reply) {
        return fail(reply);
    }

    private Subscription fail(Reply reply) {
        reply.fail(new OipException(ErrorCode.INTERNAL, "upstream '" + name + "' is not connected").confidential());
        return Subscription.NONE;
    }

    @Override
    public void close() {}
}
