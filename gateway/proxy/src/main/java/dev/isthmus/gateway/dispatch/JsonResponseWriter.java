package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.transcoder.rest.JsonResponseText;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBuf;

/** Writes a large JSON response as fast as its client reads it. The call holds the tensors until the last part. */
final class JsonResponseWriter {
    private final JsonResponseText text;
    private final MemoryBudget.MemoryReservation memory;
    private final Reply client;
    /** A client that consumes a part at once calls back before the part's write has returned. */
    private boolean writing;

    private boolean finished;

    /** @param text taken */
    JsonResponseWriter(JsonResponseText text, MemoryBudget.MemoryReservation memory, Reply client) {
        this.text = text;
        this.memory = memory;
        this.client = client;
    }

    /**
     * Starts to write, and counts the source instead of the received bytes.
     *
     * @throws dev.isthmus.oip.OipException OVERLOADED if there is no memory
     */
    void begin() {
        memory.written(text.bytes());
        write();
    }

    /** Writes as much as the client accepts now. */
    void write() {
        if (writing) {
            return;
        }
        writing = true;
        while (!finished && client.isReady()) {
            ByteBuf part = text.next();
            if (part == null) {
                release();
            } else {
                client.message(new ReplyMessage.Part(part, ReplyMessage.Part.UNKNOWN, RestBody.ALL_JSON));
            }
        }
        writing = false;
    }

    /** Whether all of it was written. */
    boolean written() {
        return finished;
    }

    /** Releases everything. Idempotent. */
    void release() {
        if (!finished) {
            finished = true;
            text.release();
            memory.source(0);
        }
    }
}
