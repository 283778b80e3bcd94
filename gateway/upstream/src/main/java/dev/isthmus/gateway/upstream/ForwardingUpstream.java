package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.transcoder.message.ServerFeatures;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** An upstream that sends everything to another one. A {@link RouteService} overrides what it changes. */
public abstract class ForwardingUpstream implements Upstream {
    private final Upstream inner;

    /** @param inner not closed with this */
    protected ForwardingUpstream(Upstream inner) {
        this.inner = inner;
    }

    /** The upstream to send to. */
    protected final Upstream inner() {
        return inner;
    }

    @Override
    public String name() {
        return inner.name();
    }

    @Override
    public List<String> extensions() {
        return inner.extensions();
    }

    @Override
    public ServerFeatures peer() {
        return inner.peer();
    }

    @Override
    public Subscription send(Call call, UpstreamRequest request, Reply reply) {
        return inner.send(call, request, reply);
    }

    @Override
    public long passesFrom() {
        return inner.passesFrom();
    }

    @Override
    public Upstream server(Call call, ModelRef model) {
        return inner.server(call, model);
    }

    @Override
    public UpstreamStream inferStream(Call call, ModelRef model, Reply reply) {
        return inner.inferStream(call, model, reply);
    }

    @Override
    public boolean readsPriority() {
        return inner.readsPriority();
    }

    @Override
    public @Nullable ServerCapabilities capabilities() {
        return inner.capabilities();
    }

    @Override
    public @Nullable ConnectionCounts connections() {
        return inner.connections();
    }

    @Override
    public void close() {}
}
