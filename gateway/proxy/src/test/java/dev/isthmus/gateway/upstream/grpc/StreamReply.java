package dev.isthmus.gateway.upstream.grpc;

import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

/** Keeps what a stream answers, as many messages as it wants. */
final class StreamReply implements Reply {
    final List<byte[]> messages = new CopyOnWriteArrayList<>();
    private final CompletableFuture<String> outcome = new CompletableFuture<>();
    private int room;
    private Runnable more = () -> {};

    /** @param room messages that it takes before it is told to take more */
    StreamReply(int room) {
        this.room = room;
    }

    /** What is done when the server takes more requests. */
    void onMore(Runnable action) {
        more = action;
    }

    /** Takes as many messages more; on the loop. */
    void take(int count) {
        room += count;
    }

    @Override
    public void message(ReplyMessage answer) {
        ByteBuf message = ((InferMessage.ProtobufMessage) ((ReplyMessage.Inference) answer).message()).message();
        messages.add(ByteBufUtil.getBytes(message));
        message.release();
        room--;
    }

    @Override
    public boolean isReady() {
        return room > 0;
    }

    @Override
    public void onReady() {
        more.run();
    }

    @Override
    public void complete() {
        outcome.complete("completed");
    }

    @Override
    public void fail(OipException failure) {
        outcome.complete(failure.code() + ": " + failure.message());
    }

    String outcome() throws Exception {
        return outcome.get(60, TimeUnit.SECONDS);
    }
}
