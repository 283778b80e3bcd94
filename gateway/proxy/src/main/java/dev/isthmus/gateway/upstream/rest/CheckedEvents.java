package dev.isthmus.gateway.upstream.rest;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.upstream.UpstreamFailures;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.buffer.SmallParts;
import dev.isthmus.transcoder.json.JsonCheck;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.jspecify.annotations.Nullable;

/**
 * Server-sent events that go on as they came. None does before all of it has come, and its data was seen to be one JSON
 * object.
 */
final class CheckedEvents implements PartReader {
    private static final ByteBuf LINE_BREAK = Unpooled.unreleasableBuffer(Unpooled.wrappedBuffer(new byte[] {'\n'}));
    private static final byte[] DATA = {'d', 'a', 't', 'a'};

    /** What of a line has come: its field's name, which may be {@code data}, the value of that, or any other field. */
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
    private boolean afterReturn;
    /** Of the data of the event that is open; null where none has come. */
    private @Nullable JsonCheck check;
    /** Where the last complete event ends in the part that is looked at. */
    private int complete;
    /** Of the event that is open. */
    private @Nullable ByteBuf held;

    /** @param maxBytes of one event */
    CheckedEvents(Call call, Reply reply, UpstreamFailures failures, long maxBytes) {
        this.call = call;
        this.reply = reply;
        this.failures = failures;
        this.maxBytes = maxBytes;
    }

    @Override
    public void part(ByteBuf part) {
        int from = part.readerIndex();
        complete = from;
        try {
            try {
                look(part);
            } finally {
                // Also those before one that is wrong.
                if (complete > from) {
                    pass(part.readRetainedSlice(complete - from));
                }
            }
            int open = part.readableBytes() + (held == null ? 0 : held.readableBytes());
            if (open > maxBytes) {
                throw failures.answerTooLarge(maxBytes, null);
            }
            call.memory().source(open + (check == null ? 0 : check.held()));
        } catch (RuntimeException e) {
            part.release();
            throw e;
        }
        hold(part);
    }

    private void hold(ByteBuf part) {
        if (part.isReadable()) {
            held = held == null ? part : SmallParts.join(call.allocator(), held, part);
        } else {
            part.release();
        }
    }

    /** Gives the client what was held, and this. */
    private void pass(ByteBuf part) {
        hold(part);
        ByteBuf events = held;
        held = null;
        if (events != null) {
            reply.message(new ReplyMessage.Events(SmallParts.complete(events)));
        }
    }

    private void look(ByteBuf part) {
        int data = part.readerIndex();
        for (int at = data; at < part.writerIndex(); at++) {
            byte octet = part.getByte(at);
            boolean ofPair = octet == '\n' && afterReturn;
            afterReturn = octet == '\r';
            if (ofPair) {
                complete = complete == at ? at + 1 : complete;
            } else if (octet == '\n' || octet == '\r') {
                if (line == Line.DATA) {
                    json(part, data, at);
                }
                if (line == Line.NAME && nameLength == 0) {
                    endEvent();
                    complete = at + 1;
                }
                endLine();
            } else if (line == Line.DATA_BEGINS) {
                line = Line.DATA;
                data = octet == ' ' ? at + 1 : at;
            } else if (line == Line.NAME) {
                name(octet);
            }
        }
        if (line == Line.DATA) {
            json(part, data, part.writerIndex());
        }
    }

    private void name(byte octet) {
        if (octet == ':' && nameLength == DATA.length) {
            line = Line.DATA_BEGINS;
        } else if (nameLength < DATA.length && octet == DATA[nameLength]) {
            nameLength++;
        } else {
            line = Line.OTHER;
        }
    }

    private void endLine() {
        boolean ofData = line == Line.DATA || line == Line.DATA_BEGINS;
        line = Line.NAME;
        nameLength = 0;
        if (ofData && check != null) {
            // As a client puts the lines together.
            JsonCheck open = check;
            wellFormed(() -> open.feed(LINE_BREAK.duplicate()));
        }
    }

    private void json(ByteBuf part, int from, int to) {
        if (from < to) {
            JsonCheck open = check == null ? JsonCheck.answer() : check;
            check = open;
            wellFormed(() -> open.feed(part.duplicate().setIndex(from, to)));
        }
    }

    private void endEvent() {
        JsonCheck open = check;
        check = null;
        if (open != null) {
            wellFormed(open::finish);
        }
    }

    private void wellFormed(Runnable step) {
        try {
            step.run();
        } catch (OipException malformed) {
            throw failures.badAnswer("sent an event that is not one JSON object: " + malformed.message(), malformed);
        }
    }

    /** What follows the last event is passed on where its data is complete. */
    @Override
    public void end() {
        endEvent();
        if (held != null) {
            pass(Unpooled.EMPTY_BUFFER);
        }
    }

    @Override
    public void release() {
        if (held != null) {
            held.release();
            held = null;
        }
        call.memory().source(0);
    }
}
