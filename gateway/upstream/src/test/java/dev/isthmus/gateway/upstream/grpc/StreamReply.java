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

/** Records a stream's responses, reading a limited number of messages. */
final class StreamReply implements Reply {
    final List<byte[]> messages = new CopyOnWriteArrayList<>();
    private final CompletableFuture<String> outcome = new CompletableFuture<>();
    private int room;
    private Runnable more = () -> {};

    /** @param room messages read before {@code isReady} becomes false */
    StreamReply(int room) {
        this.room = room;
    }

    /** Run when the server is ready for more requests. */
    void onMore(Runnable action) {
        more = action;
    }

    /** Reads this many more messages; called on the loop. */
    void take(int count) {
        room += count;
    }

    @Override
    public void message(ReplyMessage response) {
        ByteBuf message = ((InferMessage.ProtobufMessage) ((ReplyMessage.Inference) response).message()).message();
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
