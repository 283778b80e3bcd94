package dev.isthmus.gateway.shadow;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.Dialect;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import java.util.ArrayList;
import java.util.List;

/** Keeps the inferences that it is asked for, whose replies the test then gives. */
final class RecordingUpstream implements Upstream {

    record Asked(Call call, ModelRef model, Reply reply) {}

    final List<Asked> asked = new ArrayList<>();
    boolean broken;

    Asked only() {
        if (asked.size() != 1) {
            throw new AssertionError("one call is expected, got " + asked.size());
        }
        return asked.get(0);
    }

    @Override
    public String name() {
        return "recording";
    }

    @Override
    public ServerFeatures peer() {
        return new ServerFeatures(Wire.PROTOBUF, Dialect.GENERIC, true, true);
    }

    @Override
    public Subscription infer(Call call, ModelRef model, InferMessage message, Reply reply) {
        message.release();
        if (broken) {
            throw new IllegalStateException("broken");
        }
        asked.add(new Asked(call, model, reply));
        return Subscription.NONE;
    }

    @Override
    public Subscription serverReady(Call call, Reply reply) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Subscription serverMetadata(Call call, Reply reply) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Subscription modelReady(Call call, ModelRef model, Reply reply) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Subscription modelMetadata(Call call, ModelRef model, Reply reply) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void close() {}
}
