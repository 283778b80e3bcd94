package dev.isthmus.gateway.management;

import com.google.protobuf.ByteString;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.buffer.MessageSplice;
import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One management operation asked of several servers, sixteen at once, in protobuf. Lives on the call's loop. */
final class ManageFanOut implements Subscription {
    private static final int UNDER_WAY = 16;

    private final Call call;
    private final Operation.Manage manage;
    private final ByteBuf request;
    private final List<FanOutTarget> servers;
    private final Consumer<List<ServerReply>> then;
    private final List<SingleReply> asked = new ArrayList<>();
    private int open;
    private boolean asking;
    private boolean over;

    /**
     * What one server said: one of the two.
     *
     * @param content a protobuf message; empty where the server sent none
     */
    record ServerReply(
            FanOutTarget server,
            ByteString content,
            @Nullable OipException failure) {}

    /**
     * @param request the client's, in protobuf; borrowed
     * @param then gets what each server said, in the order of the servers
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
        if (asking || over) {
            return;
        }
        // Servers may answer before the call returns: not one within the other.
        asking = true;
        while (asked.size() < servers.size() && open < UNDER_WAY) {
            SingleReply one = new SingleReply(servers.get(asked.size()));
            asked.add(one);
            open++;
            one.ask();
        }
        asking = false;
        if (open == 0) {
            over();
            then.accept(asked.stream().map(SingleReply::told).toList());
        }
    }

    @Override
    public void cancel() {
        if (!over) {
            over();
            asked.forEach(one -> one.underWay.cancel());
        }
    }

    private void over() {
        over = true;
        request.release();
    }

    private final class SingleReply implements Reply {
        private final FanOutTarget server;
        private Subscription underWay = Subscription.NONE;
        private ByteString content = ByteString.EMPTY;
        private @Nullable OipException failure;
        private boolean ended;

        SingleReply(FanOutTarget server) {
            this.server = server;
        }

        void ask() {
            ByteBuf body = manage.extension().renamed(request, server.model());
            Operation.Manage there = manage.to(server.model());
            ManageBridge bridge = new ManageBridge(there, server.member().server(), this);
            Subscription started = bridge.send(call, body);
            underWay = ended ? Subscription.NONE : started;
        }

        ServerReply told() {
            return new ServerReply(server, content, failure);
        }

        @Override
        public void message(ReplyMessage answer) {
            if (answer instanceof ReplyMessage.Document document) {
                content = ByteString.copyFrom(document.content().nioBuffer());
            }
            answer.release();
        }

        @Override
        public void complete() {
            end();
        }

        @Override
        public void fail(OipException why) {
            if (!ended) {
                failure = why;
                end();
            }
        }

        private void end() {
            if (!ended) {
                ended = true;
                underWay = Subscription.NONE;
                open--;
                next();
            }
        }
    }
}
