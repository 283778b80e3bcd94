package dev.isthmus.local.run;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.local.call.Cancellable;
import dev.isthmus.local.call.InferCallback;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Tensor;
import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;

/** Records the outcome of a request, and whether its run has started. */
final class Outcome implements InferCallback {
    private static final long PATIENCE_SECONDS = 60;

    private final InferRequest request;
    private final CompletableFuture<Response> answer = new CompletableFuture<>();
    private final AtomicInteger calls = new AtomicInteger();
    private final CountDownLatch begun = new CountDownLatch(1);
    private Cancellable run = () -> {};

    /** Outputs by name. */
    record Response(InferResponse response) {
        long[] longs(String output) {
            return Runs.longs(tensor(output));
        }

        Tensor tensor(String output) {
            return response.outputs().stream()
                    .filter(tensor -> tensor.name().equals(output))
                    .findFirst()
                    .orElseThrow();
        }
    }

    Outcome(InferRequest request) {
        this.request = request;
    }

    Outcome of(Cancellable submitted) {
        run = submitted;
        return this;
    }

    /** Its first allocation shows that a run is gathering its inputs. */
    ByteBufAllocator allocator() {
        return new AbstractByteBufAllocator(true) {
            @Override
            protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
                begun.countDown();
                return UnpooledByteBufAllocator.DEFAULT.directBuffer(initialCapacity, maxCapacity);
            }

            @Override
            protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
                return UnpooledByteBufAllocator.DEFAULT.heapBuffer(initialCapacity, maxCapacity);
            }

            @Override
            public boolean isDirectBufferPooled() {
                return false;
            }
        };
    }

    @Override
    public void done(InferResponse response) {
        calls.incrementAndGet();
        answer.complete(new Response(response));
    }

    @Override
    public void failed(OipException failure) {
        calls.incrementAndGet();
        answer.completeExceptionally(failure);
    }

    void cancel() {
        run.cancel();
    }

    /** Expires the deadline as the timer does. */
    void expire() {
        ((LocalRun) run).expire();
    }

    void awaitBegun() throws InterruptedException {
        assertThat(begun.await(PATIENCE_SECONDS, TimeUnit.SECONDS))
                .as("the run begins")
                .isTrue();
    }

    void whenEnded(Runnable action) {
        answer.whenComplete((response, failure) -> action.run());
    }

    boolean ended() {
        return answer.isDone();
    }

    int calls() {
        return calls.get();
    }

    /** Whether the request's buffers have been released. */
    boolean released() {
        return request.inputs().stream().allMatch(input -> input.data().refCnt() == 0);
    }

    /** Waits for the response, which the caller releases. */
    Response response() throws InterruptedException, ExecutionException, TimeoutException {
        return answer.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    long[] response(String output) throws InterruptedException, ExecutionException, TimeoutException {
        Response whole = response();
        try {
            return whole.longs(output);
        } finally {
            whole.response().release();
        }
    }

    void release() throws InterruptedException, ExecutionException, TimeoutException {
        response().response().release();
    }

    /** Waits for any outcome and releases a response. */
    void releaseAny() throws InterruptedException, ExecutionException, TimeoutException {
        answer.handle((answered, failure) -> {
                    if (answered != null) {
                        answered.response().release();
                    }
                    return calls.get();
                })
                .get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    OipException failure() throws InterruptedException, TimeoutException {
        try {
            release();
        } catch (ExecutionException failed) {
            if (failed.getCause() instanceof OipException failure) {
                return failure;
            }
            throw new AssertionError(failed);
        }
        throw new AssertionError("it did not fail");
    }

    ErrorCode code() throws InterruptedException, TimeoutException {
        return failure().code();
    }
}
