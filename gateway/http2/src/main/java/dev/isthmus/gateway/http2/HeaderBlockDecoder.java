package dev.isthmus.gateway.http2;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.EmptyHttp2Headers;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import org.jspecify.annotations.Nullable;

/**
 * Decodes header blocks. Peers send the same few blocks again and again, made of references to their table and of
 * literals that are not kept: such a block means the same until the table changes, so it is decoded once.
 */
final class HeaderBlockDecoder {
    /** So many times its limit a block may be as it is sent: larger ones cannot be decoded, and so not be refused alone. */
    static final int MOST_ENCODED = 4;

    private static final int SLOTS = 8;
    private static final int MAX_KEPT = 1024;

    private final FieldsDecoder decoder;
    private final int maxFields;
    private final @Nullable CachedBlock[] kept = new @Nullable CachedBlock[SLOTS];

    /** Hashes of blocks that were seen once: only a block that comes again is worth keeping. */
    private final int[] seen = new int[SLOTS];

    private int nextKept;
    private int nextSeen;

    /** A block as it was sent and what it says. */
    private record CachedBlock(ByteBuf bytes, HeaderBlock block) {}

    /**
     * The decoder of one connection.
     *
     * @param maxHeaderBytes of a message (RFC 9113, 6.5.2)
     * @param maxFields of a message, without pseudo-header fields
     */
    HeaderBlockDecoder(int maxHeaderBytes, int maxFields) {
        this.decoder = new FieldsDecoder(maxHeaderBytes);
        this.maxFields = maxFields;
    }

    /** Keeps what it has decoded of a block that turns out to be too large. */
    private static final class FieldsDecoder extends DefaultHttp2HeadersDecoder {
        private Http2Headers last = EmptyHttp2Headers.INSTANCE;

        FieldsDecoder(int maxHeaderBytes) {
            super(true, true, maxHeaderBytes);
        }

        @Override
        protected Http2Headers newHeaders() {
            last = super.newHeaders();
            return last;
        }
    }

    /**
     * Decodes a block; each one that arrives must come here, in order.
     *
     * @param in borrowed; the block begins at its reader index
     * @throws Http2Violation of the connection, if it is no header block or one of far too many fields
     */
    HeaderBlock decode(int streamId, ByteBuf in, int length) {
        int from = in.readerIndex();
        HeaderBlock known = find(in, from, length);
        if (known != null) {
            return known;
        }
        checkFields(in, from, length);
        boolean plain = HeaderBlockScanner.leavesTableAlone(in, from, length);
        HeaderBlock block = decodeAnew(streamId, in, length);
        if (!plain) {
            forget();
        } else if (length <= MAX_KEPT && block.problem() == null) {
            keep(in, from, length, block);
        }
        return block;
    }

    /** A byte may stand for a field of 4 KiB: what means far more than is taken is not decoded, not even to be refused. */
    private void checkFields(ByteBuf in, int from, int length) {
        int most = (int) Math.min(Integer.MAX_VALUE, (long) MOST_ENCODED * maxFields);
        if (length > most && HeaderBlockScanner.hasMore(in, from, length, most)) {
            throw new Http2Violation(AbuseRule.HEADER_BLOCK, "a header block of more than " + most + " fields");
        }
    }

    private @Nullable HeaderBlock find(ByteBuf in, int from, int length) {
        for (CachedBlock each : kept) {
            if (each == null) {
                return null;
            }
            ByteBuf bytes = each.bytes();
            if (bytes.writerIndex() == length && ByteBufUtil.equals(bytes, 0, in, from, length)) {
                return each.block();
            }
        }
        return null;
    }

    private void keep(ByteBuf in, int from, int length, HeaderBlock block) {
        int hash = ByteBufUtil.hashCode(in.slice(from, length));
        for (int each : seen) {
            if (each == hash) {
                ByteBuf copy = Unpooled.buffer(length, length).writeBytes(in, from, length);
                kept[nextKept] = new CachedBlock(copy, block);
                nextKept = (nextKept + 1) % SLOTS;
                return;
            }
        }
        seen[nextSeen] = hash;
        nextSeen = (nextSeen + 1) % SLOTS;
    }

    private void forget() {
        for (int i = 0; i < SLOTS && kept[i] != null; i++) {
            kept[i] = null;
        }
        nextKept = 0;
    }

    private HeaderBlock decodeAnew(int streamId, ByteBuf in, int length) {
        int writerIndex = in.writerIndex();
        in.writerIndex(in.readerIndex() + length);
        try {
            return HeaderBlockValidator.of(decoder.decodeHeaders(streamId, in), maxFields);
        } catch (Http2Exception e) {
            if (!Http2Exception.isStreamError(e)) {
                throw new Http2Violation(e.error(), "a header block that cannot be decoded");
            }
            return e instanceof Http2Exception.HeaderListSizeException
                    ? HeaderBlockValidator.tooLarge(decoder.last)
                    : HeaderBlockValidator.INVALID;
        } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
            // Netty's answer to a block that ends too early.
            throw new Http2Violation(Http2Error.COMPRESSION_ERROR, "a header block that cannot be decoded");
        } finally {
            in.writerIndex(writerIndex);
        }
    }
}
