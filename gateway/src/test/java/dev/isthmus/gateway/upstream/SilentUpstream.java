package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Cancellation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.Dialect;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.Peer;
import dev.isthmus.transcoder.Wire;

/** An upstream that is never heard of, for tests that look at something else. */
public interface SilentUpstream extends Upstream {
    @Override
    default String name() {
        return "silent";
    }

    @Override
    default Peer peer() {
        return new Peer(Wire.PROTOBUF, Dialect.GENERIC, false, false);
    }

    @Override
    default Cancellation infer(Call call, ModelRef model, InferMessage message, Reply reply) {
        message.release();
        return Cancellation.NONE;
    }

    @Override
    default Cancellation serverReady(Call call, Reply reply) {
        return Cancellation.NONE;
    }

    @Override
    default Cancellation serverMetadata(Call call, Reply reply) {
        return Cancellation.NONE;
    }

    @Override
    default Cancellation modelReady(Call call, ModelRef model, Reply reply) {
        return Cancellation.NONE;
    }

    @Override
    default Cancellation modelMetadata(Call call, ModelRef model, Reply reply) {
        return Cancellation.NONE;
    }

    @Override
    default void close() {}
}
