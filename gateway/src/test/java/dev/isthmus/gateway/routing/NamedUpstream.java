package dev.isthmus.gateway.routing;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Cancellation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.upstream.PeerKnowledge;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.Peer;
import dev.isthmus.transcoder.Wire;

/** An upstream that nothing is sent to. */
record NamedUpstream(String name) implements Upstream {
    @Override
    public Peer peer() {
        return PeerKnowledge.unknown().peer(Wire.REST);
    }

    @Override
    public Cancellation infer(Call call, ModelRef model, InferMessage message, Reply reply) {
        throw new AssertionError("routing sends nothing");
    }

    @Override
    public Cancellation serverReady(Call call, Reply reply) {
        throw new AssertionError("routing asks nothing");
    }

    @Override
    public Cancellation serverMetadata(Call call, Reply reply) {
        throw new AssertionError("routing asks nothing");
    }

    @Override
    public Cancellation modelReady(Call call, ModelRef model, Reply reply) {
        throw new AssertionError("routing asks nothing");
    }

    @Override
    public Cancellation modelMetadata(Call call, ModelRef model, Reply reply) {
        throw new AssertionError("routing asks nothing");
    }

    @Override
    public void close() {}
}
