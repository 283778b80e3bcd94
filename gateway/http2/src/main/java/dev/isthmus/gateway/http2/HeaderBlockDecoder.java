package dev.isthmus.gateway.http2;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.EmptyHttp2Headers;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Decodes header blocks, with a cache. Peers send the same few blocks repeatedly, made of table references and of
 * literals without indexing. Such a block decodes to the same fields until the dynamic table changes, so it is decoded
 * once.
 */
final class HeaderBlockDecoder {
    /** A client's encoded block, and the number of its fields, may exceed the limits by this factor. */
    private static final int MOST_ENCODED = 4;

    private static final int SLOTS = 8;
    private static final int MAX_CACHED = 1024;

    /** What a header field takes in addition to its text, in bytes. */
    private static final int FIELD = 128;
    /** Text takes this many times its encoded length: the encoded form, the text, and what is parsed out of it. */
    private static final int TEXT = 4;
    /** What the dynamic table takes at most, in bytes: 4 KiB as RFC 7541, 4.1 counts, of fields without text. */
    private static final int MAX_TABLE = 20 * 1024;

    private final FieldsDecoder decoder;
    private final int maxFields;
    private final @Nullable CachedBlock[] cached = new @Nullable CachedBlock[SLOTS];

    /** Hashes of blocks seen once: only a block that is repeated is cached. */
    private final int[] seen = new int[SLOTS];

    private int nextCached;
    private int nextSeen;
    /** What the cached blocks take, in bytes. */
    private int cachedBytes;
    /** An upper bound of what the dynamic table takes, in bytes. */
    private int tableBytes;

    /** An encoded block and its decoded form. */
    private record CachedBlock(ByteBuf bytes, HeaderBlock block) {
        int cost() {
            return TEXT * bytes.capacity() + FIELD * block.headers().size();
        }
    }

    /**
     * A decoder for one connection.
     *
     * @param maxHeaderBytes limit of a message's header fields, in bytes as RFC 9113, 6.5.2 counts them
     * @param maxFields limit of a message's header fields, without pseudo-header fields
     */
    HeaderBlockDecoder(int maxHeaderBytes, int maxFields) {
        this.decoder = new FieldsDecoder(maxHeaderBytes);
        this.maxFields = maxFields;
    }

    /**
     * The largest encoded block that is decoded, so that the table stays in step and only its stream is refused. A larger
     * one closes the connection. The limit of a client is high, so that servers may send up to it.
     */
    static int mostEncoded(Http2Options options, boolean server) {
        return server ? MOST_ENCODED * options.maxHeaderBytes() : options.maxHeaderBytes();
    }

    /** Keeps the fields decoded from a block that turns out to be too large. */
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

    /** What the cache and the dynamic table take, in bytes, at most. */
    int held() {
        return cachedBytes + tableBytes;
    }

    /**
     * Decodes a block. Every received block must be decoded, in order.
     *
     * @param in borrowed; the block begins at its reader index
     * @throws Http2Violation a connection error, for an invalid header block or one with far too many fields
     */
    HeaderBlock decode(int streamId, ByteBuf in, int length) {
        int from = in.readerIndex();
        HeaderBlock known = find(in, from, length);
        if (known != null) {
            return known;
        }
        checkFields(in, from, length);
        boolean cacheable = HeaderBlockScanner.keepsDynamicTable(in, from, length);
        HeaderBlock block = decodeAnew(streamId, in, length);
        if (!cacheable) {
            clearCache();
            tableBytes = Math.min(MAX_TABLE, tableBytes + TEXT * length);
        } else if (length <= MAX_CACHED && block.isWellFormed()) {
            cache(in, from, length, block);
        }
        return block;
    }

    /** One byte may reference a field of 4 KiB, so a block with far too many fields is not decoded at all. */
    private void checkFields(ByteBuf in, int from, int length) {
        int most = (int) Math.min(Integer.MAX_VALUE, (long) MOST_ENCODED * maxFields);
        if (length > most && HeaderBlockScanner.hasMore(in, from, length, most)) {
            throw new Http2Violation(AbuseRule.HEADER_BLOCK, "a header block of more than " + most + " fields");
        }
    }

    private @Nullable HeaderBlock find(ByteBuf in, int from, int length) {
        for (CachedBlock each : cached) {
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

    private void cache(ByteBuf in, int from, int length, HeaderBlock block) {
        int hash = ByteBufUtil.hashCode(in.slice(from, length));
        for (int each : seen) {
            if (each == hash) {
                ByteBuf copy = Unpooled.buffer(length, length).writeBytes(in, from, length);
                CachedBlock before = cached[nextCached];
                CachedBlock added = new CachedBlock(copy, block);
                cachedBytes += added.cost() - (before == null ? 0 : before.cost());
                cached[nextCached] = added;
                nextCached = (nextCached + 1) % SLOTS;
                return;
            }
        }
        seen[nextSeen] = hash;
        nextSeen = (nextSeen + 1) % SLOTS;
    }

    private void clearCache() {
        for (int i = 0; i < SLOTS && cached[i] != null; i++) {
            cached[i] = null;
        }
        nextCached = 0;
        cachedBytes = 0;
    }

    private HeaderBlock decodeAnew(int streamId, ByteBuf in, int length) {
        int writerIndex = in.writerIndex();
        in.writerIndex(in.readerIndex() + length);
        try {
            return HeaderBlockValidator.of(decoder.decodeHeaders(streamId, in), maxFields);
        } catch (Http2Exception e) {
            if (!Http2Exception.isStreamError(e)) {
                throw new Http2Violation(e.error(), "invalid header block");
            }
            return e instanceof Http2Exception.HeaderListSizeException
                    ? HeaderBlockValidator.tooLarge(decoder.last)
                    : HeaderBlockValidator.INVALID;
        } finally {
            in.writerIndex(writerIndex);
        }
    }

    /** Determines whether decoded fields are a valid request, response or trailers (RFC 9113, 8.1 and 8.3). */
    private static final class HeaderBlockValidator {
        static final HeaderBlock INVALID =
                new HeaderBlock(EmptyHttp2Headers.INSTANCE, HeaderBlock.MessageKind.NOTHING, 0, -1);

        private static final int NONE = -1;
        private static final int BAD = -2;

        private HeaderBlockValidator() {}

        /** @param headers the fields decoded before the limit was reached */
        static HeaderBlock tooLarge(Http2Headers headers) {
            return new HeaderBlock(headers, HeaderBlock.MessageKind.TOO_LARGE, 0, -1);
        }

        /** @param maxFields limit, without pseudo-header fields */
        static HeaderBlock of(Http2Headers headers, int maxFields) {
            if (headers.size() > maxFields && headers.size() - pseudo(headers) > maxFields) {
                return tooLarge(headers);
            }
            long length = contentLength(headers);
            if (length == BAD) {
                return INVALID;
            }
            CharSequence status = headers.status();
            if (status != null) {
                int code = number(status);
                return code < 100 ? INVALID : new HeaderBlock(headers, HeaderBlock.MessageKind.RESPONSE, code, length);
            }
            CharSequence method = headers.method();
            if (method != null) {
                boolean valid = isRequest(headers, method) && !endsWithSpace(headers);
                return valid ? new HeaderBlock(headers, HeaderBlock.MessageKind.REQUEST, 0, length) : INVALID;
            }
            boolean pseudo = headers.path() != null || headers.scheme() != null || headers.authority() != null;
            return pseudo ? INVALID : new HeaderBlock(headers, HeaderBlock.MessageKind.TRAILERS, 0, length);
        }

        /**
         * Whether a value ends with white space (RFC 9113, 8.2.1); Netty refuses it only at the start. Not asked of responses:
         * texts of gRPC servers may end so.
         */
        private static boolean endsWithSpace(Http2Headers headers) {
            for (Map.Entry<CharSequence, CharSequence> field : headers) {
                CharSequence value = field.getValue();
                char last = value.isEmpty() ? 'x' : value.charAt(value.length() - 1);
                if (last == ' ' || last == '\t') {
                    return true;
                }
            }
            return false;
        }

        private static int pseudo(Http2Headers headers) {
            int count = 0;
            for (Http2Headers.PseudoHeaderName name : Http2Headers.PseudoHeaderName.values()) {
                count += headers.contains(name.value()) ? 1 : 0;
            }
            return count;
        }

        private static boolean isRequest(Http2Headers headers, CharSequence method) {
            CharSequence path = headers.path();
            if ("CONNECT".contentEquals(method)) {
                return path == null && headers.scheme() == null;
            }
            return !method.isEmpty() && path != null && !path.isEmpty() && headers.scheme() != null;
        }

        private static long contentLength(Http2Headers headers) {
            CharSequence first = headers.get(HttpHeaderNames.CONTENT_LENGTH);
            if (first == null) {
                return NONE;
            }
            List<CharSequence> all = headers.getAll(HttpHeaderNames.CONTENT_LENGTH);
            return all.size() == 1 ? decimal(first) : BAD;
        }

        private static int number(CharSequence digits) {
            return digits.length() == 3 ? (int) decimal(digits) : BAD;
        }

        private static long decimal(CharSequence digits) {
            if (digits.isEmpty() || digits.length() > 18) {
                return BAD;
            }
            long value = 0;
            for (int i = 0; i < digits.length(); i++) {
                char c = digits.charAt(i);
                if (c < '0' || c > '9') {
                    return BAD;
                }
                value = 10 * value + c - '0';
            }
            return value;
        }
    }

    /** Scans a header block without decoding it (RFC 7541, 6). */
    static final class HeaderBlockScanner {
        private static final int INDEXED = 0x80;
        private static final int INCREMENTAL = 0x40;
        private static final int SIZE_UPDATE = 0x20;

        private HeaderBlockScanner() {}

        /** Whether no representation of the block changes the dynamic table. Also false for a truncated block. */
        static boolean keepsDynamicTable(ByteBuf in, int from, int length) {
            int end = from + length;
            int at = from;
            while (at < end) {
                int first = in.getByte(at);
                if ((first & INDEXED) == 0 && (first & (INCREMENTAL | SIZE_UPDATE)) != 0) {
                    return false;
                }
                at = next(in, at, end);
            }
            return at == end;
        }

        /** Whether a block has more than {@code most} representations; one that is truncated counts. */
        static boolean hasMore(ByteBuf in, int from, int length, int most) {
            int end = from + length;
            int at = from;
            int count = 0;
            while (at < end && count <= most) {
                at = next(in, at, end);
                count++;
            }
            return count > most;
        }

        private static int next(ByteBuf in, int at, int end) {
            int first = in.getByte(at);
            if ((first & INDEXED) != 0) {
                return afterInteger(in, at, end, 7);
            }
            if ((first & INCREMENTAL) == 0 && (first & SIZE_UPDATE) != 0) {
                return afterInteger(in, at, end, 5);
            }
            return afterLiteral(in, at, end, first, (first & INCREMENTAL) != 0 ? 6 : 4);
        }

        private static int afterLiteral(ByteBuf in, int at, int end, int first, int prefix) {
            int next = afterInteger(in, at, end, prefix);
            if ((first & ((1 << prefix) - 1)) == 0) {
                next = afterText(in, next, end);
            }
            return afterText(in, next, end);
        }

        /** The index after a string literal; beyond {@code end} if it is truncated. */
        private static int afterText(ByteBuf in, int at, int end) {
            if (at >= end) {
                return end + 1;
            }
            int next = afterInteger(in, at, end, 7);
            long length = in.getByte(at) & 0x7f;
            if (length == 0x7f) {
                for (int i = at + 1, shift = 0; i < Math.min(next, end); i++, shift += 7) {
                    length += shift > 28 ? Integer.MAX_VALUE : (in.getByte(i) & 0x7fL) << shift;
                }
            }
            return (int) Math.min(end + 1L, next + length);
        }

        private static int afterInteger(ByteBuf in, int at, int end, int prefix) {
            int max = (1 << prefix) - 1;
            int next = at + 1;
            if ((in.getByte(at) & max) < max) {
                return next;
            }
            while (next < end && in.getByte(next) < 0) {
                next++;
            }
            return next + 1;
        }
    }
}
