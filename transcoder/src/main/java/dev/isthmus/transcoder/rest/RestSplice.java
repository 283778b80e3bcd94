package dev.isthmus.transcoder.rest;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.buffer.MessageSplice;
import dev.isthmus.transcoder.json.JsonWriter;
import dev.isthmus.transcoder.json.MemberScanner;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;

/**
 * Replaces the top-level member {@code model_name} in a response's JSON. The rest is neither decoded nor copied, except
 * for parts so small that a copy is cheaper.
 */
public final class RestSplice {
    private RestSplice() {}

    /**
     * The body with this model name; the same body if its JSON has no such member, or is malformed before it. Only the first one is replaced,
     * because readers reject duplicates.
     *
     * @param body taken
     * @throws OipException BAD_UPSTREAM_ANSWER if the body is shorter than its announced JSON
     */
    public static RestBody modelName(ByteBufAllocator allocator, RestBody body, String name) {
        ByteBuf content = body.content();
        int start = content.readerIndex();
        long length = body.binary() ? body.jsonLength() : content.readableBytes();
        if (length > content.readableBytes()) {
            body.release();
            throw new OipException(
                    ErrorCode.BAD_UPSTREAM_ANSWER,
                    "Inference-Header-Content-Length is " + length + ", but the body has " + content.readableBytes()
                            + " bytes");
        }
        MemberScanner member = new MemberScanner(content, start, start + (int) length);
        if (!member.find("model_name")) {
            return body;
        }
        MessageSplice splice = new MessageSplice(allocator);
        try {
            splice.part(content, start, member.start() - start);
            int written = write(allocator, name, splice.tail());
            splice.part(content, member.end(), content.writerIndex() - member.end());
            long changed = length - (member.end() - member.start()) + written;
            return new RestBody(splice.take(), body.binary() ? changed : RestBody.ALL_JSON);
        } finally {
            splice.release();
            body.release();
        }
    }

    /** Writes a JSON string; returns its length in bytes. */
    private static int write(ByteBufAllocator allocator, String name, ByteBuf out) {
        ByteBuf json = new JsonWriter(allocator).text(name).take();
        try {
            int length = json.readableBytes();
            out.writeBytes(json);
            return length;
        } finally {
            json.release();
        }
    }
}
