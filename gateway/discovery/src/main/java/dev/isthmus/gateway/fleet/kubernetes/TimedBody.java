package dev.isthmus.gateway.fleet.kubernetes;

import java.io.IOException;
import java.io.InputStream;
import java.net.http.HttpResponse.BodySubscriber;
import java.net.http.HttpTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The body of a response as a stream whose reads end after a time without data, or after a number of bytes: the JDK's
 * HTTP client limits only the time until the head. At most one part is received ahead. Read by one thread; closing it
 * closes the connection.
 */
final class TimedBody extends InputStream implements BodySubscriber<TimedBody> {
    /** What the client reports: a part, or the end if there is no part. */
    private record Received(List<ByteBuffer> part, @Nullable Throwable failure, boolean last) {}

    /** Several times what etcd stores of one object. */
    static final int MAX_OBJECT = 4 << 20;

    private final long idleNanos;
    private final BlockingQueue<Received> queue = new LinkedBlockingQueue<>();
    private final CompletableFuture<Flow.Subscription> subscription = new CompletableFuture<>();
    private List<ByteBuffer> current = List.of();
    private PausedReader pause = new PausedReader(0, () -> {});
    private long allowed = MAX_OBJECT;
    private boolean ended;

    /** What the reader does when nothing has arrived for a time. */
    private record PausedReader(long nanos, Runnable task) {}

    /** @param idle the longest time without data */
    TimedBody(Duration idle) {
        idleNanos = idle.toNanos();
    }

    @Override
    public CompletionStage<TimedBody> getBody() {
        return CompletableFuture.completedFuture(this);
    }

    @Override
    public void onSubscribe(Flow.Subscription source) {
        subscription.complete(source);
        source.request(1);
    }

    @Override
    public void onNext(List<ByteBuffer> part) {
        queue.add(new Received(part, null, false));
    }

    @Override
    public void onError(Throwable failure) {
        queue.add(new Received(List.of(), failure, true));
    }

    @Override
    public void onComplete() {
        queue.add(new Received(List.of(), null, true));
    }

    /** Another {@link #MAX_OBJECT} bytes may be read from here on, and no more. */
    void allowObject() {
        allowed = MAX_OBJECT;
    }

    /** Has the reading thread run a task when nothing has arrived for a time. */
    void onPause(Duration after, Runnable task) {
        pause = new PausedReader(after.toNanos(), task);
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] to, int offset, int length) throws IOException {
        Objects.checkFromIndexSize(offset, length, to.length);
        while (!ended) {
            for (ByteBuffer buffer : current) {
                if (buffer.hasRemaining()) {
                    return read(buffer, to, offset, length);
                }
            }
            next();
        }
        return -1;
    }

    private int read(ByteBuffer from, byte[] to, int offset, int length) throws IOException {
        if (allowed == 0 && length > 0) {
            throw new IOException("the API server sends an object of more than " + MAX_OBJECT + " bytes");
        }
        int count = (int) Math.min(Math.min(length, from.remaining()), allowed);
        from.get(to, offset, count);
        allowed -= count;
        return count;
    }

    private void next() throws IOException {
        Received received;
        try {
            received = queue.poll(pause.nanos(), TimeUnit.NANOSECONDS);
            if (received == null) {
                pause.task().run();
                received = queue.poll(idleNanos, TimeUnit.NANOSECONDS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while reading", e);
        }
        if (received == null) {
            throw new HttpTimeoutException(
                    "the API server has sent nothing for " + TimeUnit.NANOSECONDS.toSeconds(idleNanos) + " s");
        }
        if (received.failure() != null) {
            throw new IOException("the connection to the API server has ended", received.failure());
        }
        ended = received.last();
        current = received.part();
        if (!ended) {
            subscription.join().request(1);
        }
    }

    @Override
    public void close() {
        ended = true;
        subscription.thenAccept(Flow.Subscription::cancel);
    }
}
