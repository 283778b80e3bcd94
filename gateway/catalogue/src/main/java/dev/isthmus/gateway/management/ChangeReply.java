package dev.isthmus.gateway.management;

import com.google.protobuf.MessageLite;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.catalogue.Catalogue;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.fleet.Cluster;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.RepositoryModelLoadResponse;
import dev.isthmus.proto.RepositoryModelUnloadResponse;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The reply to a load or unload. It is delivered when the catalogue knows the model's new state, since clients ask for it
 * next; without it if a server does not say it soon. KServe's clients get KServe's message, whatever the server is: they
 * look whether it says that the model is loaded.
 */
final class ChangeReply extends ForwardingReply {
    private static final long MAX_WAIT_NANOS = TimeUnit.SECONDS.toNanos(5);

    private final Call call;
    private final Operation.Manage manage;
    private final List<Target> targets;
    private final Catalogue catalogue;
    private @Nullable ByteBuf response;

    ChangeReply(Call call, Operation.Manage manage, List<Target> targets, Catalogue catalogue, Reply reply) {
        super(reply);
        this.call = call;
        this.manage = manage;
        this.targets = targets;
        this.catalogue = catalogue;
    }

    @Override
    public void message(ReplyMessage message) {
        // Copied: nothing is to be released if the call is cancelled before its end.
        if (manage.modelFirst()) {
            response = Unpooled.wrappedBuffer(done().toByteArray());
        } else if (message instanceof ReplyMessage.Document document) {
            response = Unpooled.copiedBuffer(document.content());
        }
        message.release();
    }

    private MessageLite done() {
        String model = manage.model().name();
        return manage.extension() == Extension.REPOSITORY_LOAD
                ? RepositoryModelLoadResponse.newBuilder()
                        .setModelName(model)
                        .setIsLoaded(true)
                        .build()
                : RepositoryModelUnloadResponse.newBuilder()
                        .setModelName(model)
                        .setIsUnloaded(true)
                        .build();
    }

    @Override
    public void complete() {
        whenKnown(null);
    }

    @Override
    public void fail(OipException failure) {
        whenKnown(failure);
    }

    private void whenKnown(@Nullable OipException failure) {
        Set<Upstream> upstreams = targets.stream().map(Target::upstream).collect(Collectors.toUnmodifiableSet());
        long left = call.hasDeadline() ? call.deadlineNanos() - System.nanoTime() : Long.MAX_VALUE;
        // Before the client's deadline, not at it.
        long wait = Math.clamp(left - left / 10, 0, MAX_WAIT_NANOS);
        try {
            checked()
                    .thenCompose(checked -> catalogue.changed(upstreams))
                    .completeOnTimeout(null, wait, TimeUnit.NANOSECONDS)
                    .whenCompleteAsync((known, fault) -> deliver(failure), call.loop());
        } catch (RejectedExecutionException closing) {
            deliver(failure);
        }
    }

    /** Checks the model on each of its servers; an in-process server knows it. */
    private CompletableFuture<Void> checked() {
        return CompletableFuture.allOf(targets.stream()
                .filter(target -> target.upstream() instanceof Cluster)
                .map(target ->
                        ((Cluster) target.upstream()).recheck(target.model().name()))
                .toArray(CompletableFuture<?>[]::new));
    }

    private void deliver(@Nullable OipException failure) {
        if (response != null) {
            super.message(new ReplyMessage.Document(response));
        }
        if (failure == null) {
            super.complete();
        } else {
            super.fail(failure);
        }
    }
}
