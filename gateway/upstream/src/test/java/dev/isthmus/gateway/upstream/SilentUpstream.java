package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.transcoder.message.Dialect;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;

/** An upstream that never responds, for tests that do not need responses. */
public interface SilentUpstream extends Upstream {
    @Override
    default String name() {
        return "silent";
    }

    @Override
    default ServerFeatures peer() {
        return new ServerFeatures(Wire.PROTOBUF, Dialect.GENERIC, false, false);
    }

    @Override
    default Subscription send(Call call, UpstreamRequest request, Reply reply) {
        request.release();
        return Subscription.NONE;
    }

    @Override
    default void close() {}
}
