package dev.isthmus.gateway.dispatch;

import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.memory.MemoryBudget;
import dev.isthmus.transcoder.rest.JsonResponseText;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBuf;

/** A large answer in JSON, which is written as its client takes it. The call holds the tensors until the last part. */
final class JsonResponseWriter {
    private final JsonResponseText text;
    private final MemoryBudget.MemoryReservation memory;
    private final Reply client;
    /** A client that takes a part at once says so before that part's writing is over. */
    private boolean writing;

    private boolean written;

    /** @param text taken */
    JsonResponseWriter(JsonResponseText text, MemoryBudget.MemoryReservation memory, Reply client) {
        this.text = text;
        this.memory = memory;
        this.client = client;
    }

    /**
     * Counts what is held instead of what has come.
     *
     * @throws dev.isthmus.oip.OipException OVERLOADED where there is no room
     */
    void begin() {
        memory.written(text.bytes());
        write();
    }

    /** Writes as much as the client takes now. */
    void write() {
        if (writing) {
            return;
        }
        writing = true;
        while (!written && client.isReady()) {
            ByteBuf part = text.next();
            if (part == null) {
                release();
            } else {
                client.message(new ReplyMessage.Part(part, ReplyMessage.Part.UNKNOWN, RestBody.ALL_JSON));
            }
        }
        writing = false;
    }

    /** Whether the client was given all of it. */
    boolean written() {
        return written;
    }

    /** Gives back what is held; may be called at any time and more than once. */
    void release() {
        if (!written) {
            written = true;
            text.release();
            memory.source(0);
        }
    }
}
