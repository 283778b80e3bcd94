package dev.isthmus.gateway.management;

import com.google.protobuf.MessageLite;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.RepositoryModelLoadResponse;
import dev.isthmus.proto.RepositoryModelUnloadResponse;
import io.netty.buffer.Unpooled;

/**
 * The reply to a load or unload, whose end has a consequence. KServe's clients get KServe's message, whatever the server
 * is: they look whether it says that the model is loaded.
 */
final class ChangeReply extends ForwardingReply {
    private final Operation.Manage manage;
    private final Runnable ended;

    /** @param ended runs when the reply ends, before the client is notified */
    ChangeReply(Operation.Manage manage, Reply reply, Runnable ended) {
        super(reply);
        this.manage = manage;
        this.ended = ended;
    }

    @Override
    public void message(ReplyMessage message) {
        if (!manage.modelFirst()) {
            super.message(message);
            return;
        }
        message.release();
        super.message(new ReplyMessage.Document(Unpooled.wrappedBuffer(done().toByteArray())));
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
        ended.run();
        super.complete();
    }

    @Override
    public void fail(OipException failure) {
        ended.run();
        super.fail(failure);
    }
}
