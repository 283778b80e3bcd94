package dev.isthmus.gateway.fleet;

import static java.util.Objects.requireNonNull;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Cancellation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.oip.ModelRef;
import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An inference whose request goes on in parts while it comes. One that is small enough is kept meanwhile: another server is sent
 * what has come, and then what comes. Any other may be asked again until the first part of it went on.
 */
final class OpenRequest implements Question {
    private final ModelRef model;
    private final long length;
    /** Whether what goes on is kept. */
    private boolean keeps;
    /** What the server is sent before anything new. */
    private final List<ByteBuf> kept = new ArrayList<>();

    private long held;
    /** Of the kept parts, the first that the server was not sent. */
    private int next;

    private @Nullable RequestSink server;
    private boolean begun;
    /** Whether all of it has come. */
    private boolean complete;
    /** Whether the server was told so. */
    private boolean ended;
    /** Whether the server took no more when it was asked last. */
    private boolean full;

    private int sendings;

    /**
     * A request of which nothing has come.
     *
     * @param length of the message in bytes
     * @param keeps whether it is kept for another try
     */
    OpenRequest(ModelRef model, long length, boolean keeps) {
        this.model = model;
        this.length = length;
        this.keeps = keeps;
    }

    @Override
    public ModelRef model() {
        return model;
    }

    @Override
    public Repeat repeat() {
        return begun && !keeps ? Repeat.NEVER : Repeat.INFERENCE;
    }

    @Override
    public boolean endless() {
        return false;
    }

    /** Of what is kept. */
    @Override
    public long bytes() {
        return keeps ? length : 0;
    }

    @Override
    public Cancellation send(Upstream to, Call call, Reply reply, boolean last) {
        server = null;
        ended = false;
        next = 0;
        keeps &= !last;
        int sending = ++sendings;
        RequestSink opened = to.inferParts(call, model, length, reply);
        if (sending == sendings) {
            // Otherwise it failed at once, and went to another one meanwhile.
            server = opened;
            if (opened.writable()) {
                reply.readMore();
            }
        }
        return new Opened(opened);
    }

    private record Opened(RequestSink sink) implements Cancellation {
        @Override
        public void cancel() {
            sink.cancel();
        }

        @Override
        public void resume() {
            sink.resume();
        }
    }

    @Override
    public void takesMore() {
        // Each part may be the end of this try, and the beginning of the next one.
        while (next < kept.size() && server != null && server.writable()) {
            server.data(kept.get(next++).retainedDuplicate());
        }
        if (server != null && next == kept.size()) {
            if (!keeps) {
                release();
            }
            if (complete && !ended) {
                ended = true;
                server.end();
            }
        }
    }

    /** Whether there is a server that takes the next part. */
    boolean writable() {
        full = server == null || next < kept.size() || !server.writable();
        return !full;
    }

    @Override
    public boolean clientSends() {
        return !complete;
    }

    @Override
    public boolean waitsForClient() {
        return begun && !complete && !full;
    }

    /**
     * The next part of it, for a server that takes it.
     *
     * @param part taken
     */
    void data(ByteBuf part) {
        begun = true;
        if (keeps) {
            held += part.readableBytes();
            kept.add(part.retainedDuplicate());
            next = kept.size();
        }
        requireNonNull(server).data(part);
    }

    /** All of it has come. */
    void end() {
        complete = true;
        takesMore();
    }

    /** Bytes that are kept. */
    long held() {
        return held;
    }

    /** Where the server has not been sent all that came it still is. */
    @Override
    public void answered() {
        keeps = false;
        if (next == kept.size()) {
            release();
        }
    }

    @Override
    public void release() {
        keeps = false;
        kept.forEach(ByteBuf::release);
        kept.clear();
        next = 0;
        held = 0;
    }
}
