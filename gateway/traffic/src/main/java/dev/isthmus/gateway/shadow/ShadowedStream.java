package dev.isthmus.gateway.shadow;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.upstream.UpstreamRequest.InferenceRequest;
import dev.isthmus.gateway.upstream.UpstreamStream;
import dev.isthmus.oip.OipException;
import org.jspecify.annotations.Nullable;

/** A stream, whose requests are counted and not copied. */
record ShadowedStream(Shadows shadows, UpstreamStream stream) implements UpstreamStream {
    @Override
    public void send(Call request, InferenceRequest message, boolean emptyFinal) {
        shadows.leaveOut();
        stream.send(request, message, emptyFinal);
    }

    @Override
    public void ended(long nanos, @Nullable OipException failure) {
        stream.ended(nanos, failure);
    }

    @Override
    public void end() {
        stream.end();
    }

    @Override
    public long keptBytes() {
        return stream.keptBytes();
    }

    @Override
    public boolean isReady() {
        return stream.isReady();
    }

    @Override
    public void onReady() {
        stream.onReady();
    }

    @Override
    public void cancel() {
        stream.cancel();
    }
}
