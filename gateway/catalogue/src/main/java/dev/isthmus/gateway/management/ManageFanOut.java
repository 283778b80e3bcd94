package dev.isthmus.gateway.management;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.CallLog;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.catalogue.ServerId;
import dev.isthmus.gateway.fleet.ReplicaStatus;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.buffer.MessageSplice;
import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Sends one management operation to several servers, sixteen at a time, in protobuf. Used on the call's loop. */
final class ManageFanOut implements Subscription {
    private static final int MAX_IN_FLIGHT = 16;

    private final Call call;
    private final Operation.Manage manage;
    private final ByteBuf request;
    private final List<FanOutTarget> servers;
    private final Consumer<List<ServerReply>> then;
    private final List<SingleReply> replies = new ArrayList<>();
    private int pending;
    private boolean sending;
    private boolean finished;

    /**
     * One server's result: a response or a failure.
     *
     * @param content a protobuf message; empty if the server sent none
     */
    record ServerReply(
            FanOutTarget server,
            ByteString content,
            @Nullable OipException failure) {}

    /**
     * @param request the client's, in protobuf; borrowed
     * @param then receives the servers' results, in order
     */
    ManageFanOut(
            Call call,
            Operation.Manage manage,
            ByteBuf request,
            List<FanOutTarget> servers,
            Consumer<List<ServerReply>> then) {
        this.call = call;
        this.manage = manage.as(false);
        this.request = MessageSplice.retained(request);
        this.servers = servers;
        this.then = then;
    }

    ManageFanOut begin() {
        next();
        return this;
    }

    private void next() {
        if (sending || finished) {
            return;
        }
        // Servers may respond before send() returns: send in a loop, not recursively.
        sending = true;
        while (replies.size() < servers.size() && pending < MAX_IN_FLIGHT) {
            SingleReply reply = new SingleReply(servers.get(replies.size()));
            replies.add(reply);
            pending++;
            reply.send();
        }
        sending = false;
        if (pending == 0) {
            finish();
            then.accept(replies.stream().map(SingleReply::result).toList());
        }
    }

    @Override
    public void cancel() {
        if (!finished) {
            finish();
            replies.forEach(reply -> reply.subscription.cancel());
        }
    }

    private void finish() {
        finished = true;
        request.release();
    }

    private final class SingleReply implements Reply {
        private final FanOutTarget server;
        private Subscription subscription = Subscription.NONE;
        private ByteString content = ByteString.EMPTY;
        private @Nullable OipException failure;
        private boolean ended;

        SingleReply(FanOutTarget server) {
            this.server = server;
        }

        void send() {
            try {
                ByteBuf body = manage.extension().renamed(request, server.model());
                Operation.Manage operation = manage.to(server.model());
                ManageBridge bridge =
                        new ManageBridge(operation, server.member().server(), this);
                subscription = bridge.send(call, body).cancelIf(finished);
            } catch (RuntimeException | OutOfMemoryError fault) {
                fail(CallLog.failureOf(fault, call.context()));
            }
        }

        ServerReply result() {
            return new ServerReply(server, content, failure);
        }

        @Override
        public void message(ReplyMessage response) {
            if (response instanceof ReplyMessage.Document document) {
                content = ByteString.copyFrom(document.content().nioBuffer());
            }
            response.release();
        }

        @Override
        public void complete() {
            end();
        }

        @Override
        public void fail(OipException cause) {
            if (!ended) {
                failure = cause;
                end();
            }
        }

        private void end() {
            if (!ended) {
                ended = true;
                subscription = Subscription.NONE;
                pending--;
                next();
            }
        }
    }

    /**
     * One of the servers that receive an operation.
     *
     * @param model the operation's model under its name there
     */
    record FanOutTarget(ReplicaStatus member, ModelRef model) {
        /** For what concerns a model as a whole: each server once. */
        static List<FanOutTarget> ofAllVersions(List<FanOutTarget> targets) {
            return targets.stream().map(FanOutTarget::whole).distinct().toList();
        }

        /** Without versions of which the server is also asked with all others. */
        static List<FanOutTarget> withoutParts(List<FanOutTarget> targets) {
            return targets.stream()
                    .filter(each -> each.equals(each.whole()) || !targets.contains(each.whole()))
                    .toList();
        }

        private FanOutTarget whole() {
            return new FanOutTarget(member, ModelRef.of(model.name()));
        }

        ServerId source() {
            return new ServerId(member.upstream(), member.label());
        }
    }
}
