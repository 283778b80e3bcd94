package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Cancellation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.Dialect;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.Peer;
import dev.isthmus.transcoder.Wire;

/** A server that is never heard of, for tests of the choice among servers. */
final class SilentServer implements Upstream {
    private volatile boolean closed;

    boolean closed() {
        return closed;
    }

    @Override
    public String name() {
        return "silent";
    }

    @Override
    public Peer peer() {
        return new Peer(Wire.PROTOBUF, Dialect.GENERIC, false, false);
    }

    @Override
    public Cancellation infer(Call call, ModelRef model, InferMessage message, Reply reply) {
        message.release();
        return Cancellation.NONE;
    }

    @Override
    public Cancellation serverReady(Call call, Reply reply) {
        return Cancellation.NONE;
    }

    @Override
    public Cancellation serverMetadata(Call call, Reply reply) {
        return Cancellation.NONE;
    }

    @Override
    public Cancellation modelReady(Call call, ModelRef model, Reply reply) {
        return Cancellation.NONE;
    }

    @Override
    public Cancellation modelMetadata(Call call, ModelRef model, Reply reply) {
        return Cancellation.NONE;
    }

    @Override
    public void close() {
        closed = true;
    }
}
