package dev.isthmus.gateway.upstream;

import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Cancellation;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;

/** An event loop on which tests call an upstream as the dispatcher does. */
public final class Asking implements AutoCloseable {
    public final Transport transport = Transport.best();
    private final EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, transport.ioHandler());

    /** One question under way. */
    public record Question(CompletableFuture<Answer> answer, CompletableFuture<Cancellation> cancellation) {}

    public Question start(Map<String, String> headers, long timeoutMillis, BiFunction<Call, Reply, Cancellation> ask) {
        CompletableFuture<Answer> answer = new CompletableFuture<>();
        CompletableFuture<Cancellation> cancellation = new CompletableFuture<>();
        var loop = loops.next();
        long deadline = timeoutMillis == 0
                ? Call.NO_DEADLINE
                : System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
        Call call = new Call(new Operation.ServerReady(), deadline, headers, loop, ByteBufAllocator.DEFAULT);
        loop.execute(() -> cancellation.complete(ask.apply(call, new Reply() {
            @Override
            public void message(Answer message) {
                answer.complete(message);
            }

            @Override
            public void complete() {}

            @Override
            public void fail(OipException failure) {
                answer.completeExceptionally(failure);
            }
        })));
        return new Question(answer, cancellation);
    }

    public Answer ask(BiFunction<Call, Reply, Cancellation> ask) {
        return start(Map.of(), 0, ask).answer().orTimeout(20, TimeUnit.SECONDS).join();
    }

    public OipException failure(Question question) {
        try {
            question.answer().orTimeout(20, TimeUnit.SECONDS).join().release();
        } catch (CompletionException e) {
            if (e.getCause() instanceof OipException failure) {
                return failure;
            }
            throw e;
        }
        throw new AssertionError("it did not fail");
    }

    public OipException failure(BiFunction<Call, Reply, Cancellation> ask) {
        return failure(start(Map.of(), 0, ask));
    }

    @Override
    public void close() {
        loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
    }
}
