package dev.isthmus.gateway.upstream.rest;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.upstream.UpstreamFailures;
import dev.isthmus.gateway.upstream.rest.RestResponseHandler.PartReader;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.buffer.SmallParts;
import dev.isthmus.transcoder.json.JsonCheck;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * Forwards server-sent events unchanged. An event is forwarded once it has arrived completely and its data is checked
 * to be one JSON object, or {@code [DONE]}, with which some servers end a stream as OpenAI's API does.
 */
final class CheckedEvents implements PartReader {
    private static final ByteBuf LINE_BREAK = Unpooled.unreleasableBuffer(Unpooled.wrappedBuffer(new byte[] {'\n'}));
    private static final byte[] DATA = {'d', 'a', 't', 'a'};
    private static final byte[] DONE = "[DONE]".getBytes(StandardCharsets.US_ASCII);

    /**
     * Position in the current line: in the field name, which may be {@code data}, in its value, or in any other field.
     */
    private enum Line {
        NAME,
        DATA_BEGINS,
        DATA,
        OTHER
    }

    private final Call call;
    private final Reply reply;
    private final UpstreamFailures failures;
    private final long maxBytes;
    private Line line = Line.NAME;
    private int nameLength;
    private boolean afterCr;
    /** Checks the data of the current event; null if none has arrived. */
    private @Nullable JsonCheck check;
    /** How many bytes of {@link #DONE} the data of the current event has. */
    private int done;
    /** Where the last complete event ends in the current part. */
    private int completeEnd;
    /** The incomplete event. */
    private @Nullable ByteBuf held;

    private boolean released;

    /** @param maxBytes limit of one event */
    CheckedEvents(Call call, Reply reply, UpstreamFailures failures, long maxBytes) {
        this.call = call;
        this.reply = reply;
        this.failures = failures;
        this.maxBytes = maxBytes;
    }

    @Override
    public void part(ByteBuf part) {
        int from = part.readerIndex();
        completeEnd = from;
        try {
            try {
                scan(part);
            } finally {
                // Also the events before an invalid one.
                if (completeEnd > from) {
                    forward(part.readRetainedSlice(completeEnd - from));
                }
            }
            if (released) {
                part.release();
                return;
            }
            int open = part.readableBytes() + (held == null ? 0 : held.readableBytes());
            if (open > maxBytes) {
                throw failures.responseTooLarge(maxBytes, null);
            }
            call.memory().source(open + (check == null ? 0 : check.held()));
        } catch (RuntimeException e) {
            part.release();
            throw e;
        }
        buffer(part);
    }

    private void buffer(ByteBuf part) {
        if (part.isReadable()) {
            held = held == null ? part : SmallParts.join(call.allocator(), held, part);
        } else {
            part.release();
        }
    }

    /** Forwards the buffered bytes and this part. */
    private void forward(ByteBuf part) {
        buffer(part);
        ByteBuf events = held;
        held = null;
        if (events != null) {
            reply.message(new ReplyMessage.Events(SmallParts.complete(events)));
        }
    }

    private void scan(ByteBuf part) {
        int data = part.readerIndex();
        for (int at = data; at < part.writerIndex(); at++) {
            byte b = part.getByte(at);
            boolean secondOfCrLf = b == '\n' && afterCr;
            afterCr = b == '\r';
            if (secondOfCrLf) {
                // The event may have ended with the part before, and was forwarded then.
                boolean ended = completeEnd == at && (at > part.readerIndex() || held == null);
                completeEnd = ended ? at + 1 : completeEnd;
            } else if (b == '\n' || b == '\r') {
                if (line == Line.DATA) {
                    json(part, data, at);
                }
                if (line == Line.NAME && nameLength == 0) {
                    endEvent();
                    completeEnd = at + 1;
                }
                endLine();
            } else if (line == Line.DATA_BEGINS) {
                line = Line.DATA;
                data = b == ' ' ? at + 1 : at;
            } else if (line == Line.NAME) {
                name(b);
            }
        }
        if (line == Line.DATA) {
            json(part, data, part.writerIndex());
        }
    }

    private void name(byte b) {
        if (b == ':' && nameLength == DATA.length) {
            line = Line.DATA_BEGINS;
        } else if (nameLength < DATA.length && b == DATA[nameLength]) {
            nameLength++;
        } else {
            line = Line.OTHER;
        }
    }

    private void endLine() {
        boolean dataLine = line == Line.DATA || line == Line.DATA_BEGINS;
        line = Line.NAME;
        nameLength = 0;
        if (dataLine && check != null) {
            // A client joins data lines with a line feed.
            JsonCheck open = check;
            wellFormed(() -> open.feed(LINE_BREAK.duplicate()));
        }
    }

    private void json(ByteBuf part, int from, int to) {
        if (from < to && check == null && (done > 0 || part.getByte(from) == DONE[0])) {
            done(part, from, to);
        } else if (from < to) {
            JsonCheck open = check == null ? JsonCheck.response() : check;
            check = open;
            wellFormed(() -> open.feed(part.slice(from, to - from)));
        }
    }

    private void done(ByteBuf part, int from, int to) {
        for (int at = from; at < to; at++) {
            if (done == DONE.length || part.getByte(at) != DONE[done]) {
                throw notDone();
            }
            done++;
        }
    }

    private OipException notDone() {
        return failures.badResponse("sent an event that is not one JSON object: it begins with '['", null);
    }

    private void endEvent() {
        JsonCheck open = check;
        check = null;
        if (done > 0 && done < DONE.length) {
            throw notDone();
        }
        done = 0;
        if (open != null) {
            wellFormed(open::finish);
        }
    }

    private void wellFormed(Runnable step) {
        try {
            step.run();
        } catch (OipException malformed) {
            throw failures.badResponse("sent an event that is not one JSON object: " + malformed.message(), malformed);
        }
    }

    /** An event without its final blank line is forwarded if its data is complete. */
    @Override
    public void end() {
        endEvent();
        if (held != null) {
            forward(Unpooled.EMPTY_BUFFER);
        }
    }

    @Override
    public void release() {
        released = true;
        if (held != null) {
            held.release();
            held = null;
        }
        call.memory().source(0);
    }
}
