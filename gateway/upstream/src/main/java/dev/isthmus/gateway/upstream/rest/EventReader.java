package dev.isthmus.gateway.upstream.rest;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
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
}
