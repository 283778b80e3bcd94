package dev.isthmus.gateway.upstream.rest;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.upstream.rest.RestResponseHandler.PartReader;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.ExpectedOrigin;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Reads server-sent events, each an inference response or an error. */
final class EventReader implements PartReader {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final ByteBuf ERROR =
            Unpooled.unreleasableBuffer(Unpooled.copiedBuffer("{\"error\"", StandardCharsets.US_ASCII));

    private final Reply reply;
    private final RestResponses responses;
    private final ExpectedOrigin expected;
    private final EventParser parser;

    EventReader(
            Reply reply, RestResponses responses, ExpectedOrigin expected, ByteBufAllocator allocator, long maxBytes) {
        this.reply = reply;
        this.responses = responses;
        this.expected = expected;
        this.parser = new EventParser(allocator, maxBytes, () -> {
            throw responses.failures().responseTooLarge(maxBytes, null);
        });
    }

    @Override
    public void part(ByteBuf part) {
        try {
            parser.feed(part, this::event);
        } finally {
            part.release();
        }
    }

    private void event(ByteBuf data) {
        if (!ByteBufUtil.equals(data, data.readerIndex(), ERROR, 0, ERROR.readableBytes())) {
            responses.requireOrigin(data, expected);
            reply.message(
                    new ReplyMessage.Inference(new InferMessage.RestMessage(new RestBody(data, RestBody.ALL_JSON))));
            return;
        }
        try {
            JsonNode error =
                    JSON.readTree(data.toString(StandardCharsets.UTF_8)).path("error");
            String text = error.isTextual() ? error.textValue() : error.toString();
            reply.message(new ReplyMessage.StreamError(OipException.ofServer(ErrorCode.UNKNOWN, text), ""));
        } catch (IOException e) {
            throw responses.failures().badResponse("sent an event that violates the protocol", e);
        } finally {
            data.release();
        }
    }

    @Override
    public void release() {
        parser.release();
    }

    /**
     * Extracts the data of events from a stream of server-sent events (WHATWG HTML, "Server-sent events"). Skips comments
     * and other fields.
     */
    static final class EventParser {
        private static final ByteBuf DATA =
                Unpooled.unreleasableBuffer(Unpooled.wrappedBuffer(new byte[] {'d', 'a', 't', 'a'}));
        private static final int NAME = DATA.readableBytes();

        private final ByteBufAllocator allocator;
        private final long maxBytes;
        private final Runnable tooLarge;
        private @Nullable ByteBuf line;
        private @Nullable ByteBuf data;
        private boolean afterCr;
        private boolean released;

        /**
         * A parser at the start of a stream.
         *
         * @param maxBytes limit of one event
         * @param tooLarge called for a larger event; must throw
         */
        EventParser(ByteBufAllocator allocator, long maxBytes, Runnable tooLarge) {
            this.allocator = allocator;
            this.maxBytes = maxBytes;
            this.tooLarge = tooLarge;
        }

        /**
         * Parses the next bytes.
         *
         * @param part borrowed
         * @param events receives and owns the data of each complete event; it may release this parser
         */
        void feed(ByteBuf part, Consumer<ByteBuf> events) {
            int from = part.readerIndex();
            for (int at = from; at < part.writerIndex() && !released; at++) {
                byte b = part.getByte(at);
                if (b == '\n' || b == '\r') {
                    boolean secondOfCrLf = b == '\n' && afterCr && at == from && line == null;
                    afterCr = b == '\r';
                    if (!secondOfCrLf) {
                        keep(part, from, at);
                        endLine(events);
                    }
                    from = at + 1;
                } else {
                    afterCr = false;
                }
            }
            keep(part, from, part.writerIndex());
        }

        private void keep(ByteBuf part, int from, int to) {
            if (from == to || released) {
                return;
            }
            ByteBuf open = line;
            if (open == null) {
                open = allocator.buffer(to - from);
                line = open;
            }
            int held = open.readableBytes() + (data == null ? 0 : data.readableBytes());
            if ((long) held + (to - from) > maxBytes) {
                tooLarge.run();
            }
            open.writeBytes(part, from, to - from);
        }

        private void endLine(Consumer<ByteBuf> events) {
            ByteBuf ended = line;
            line = null;
            if (ended == null) {
                ByteBuf event = data;
                data = null;
                if (event != null) {
                    events.accept(event);
                }
                return;
            }
            if (isData(ended)) {
                ended.skipBytes(ended.readableBytes() > NAME ? NAME + 1 : NAME);
                if (ended.isReadable() && ended.getByte(ended.readerIndex()) == ' ') {
                    ended.skipBytes(1);
                }
                ByteBuf open = data;
                if (open == null) {
                    data = ended;
                    return;
                }
                open.writeByte('\n').writeBytes(ended);
            }
            ended.release();
        }

        private static boolean isData(ByteBuf line) {
            return ByteBufUtil.equals(line, line.readerIndex(), DATA, 0, NAME)
                    && (line.readableBytes() == NAME || line.getByte(line.readerIndex() + NAME) == ':');
        }

        /** Releases the incomplete event; later input is ignored. */
        void release() {
            released = true;
            if (line != null) {
                line.release();
                line = null;
            }
            if (data != null) {
                data.release();
                data = null;
            }
        }
    }
}
