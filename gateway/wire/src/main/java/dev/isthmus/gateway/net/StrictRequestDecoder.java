package dev.isthmus.gateway.net;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.DecoderResult;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpMessage;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpRequestDecoder;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.AsciiString;
import io.netty.util.ReferenceCountUtil;
import java.util.List;

/**
 * Netty's decoder with limits and with the strict grammar of RFC 9112: where Netty is lenient, another server may parse
 * a different message. The first violation is reported as the decoder result of the request or of its last content; all
 * further bytes of the connection are dropped. If the peer does not speak HTTP, the connection is closed without a
 * response.
 */
public class StrictRequestDecoder extends HttpRequestDecoder {
    private static final int MAX_PART = 256 * 1024;
    private static final String HTTP = "HTTP/";
    /** What a header field takes in addition to its text, in bytes. */
    private static final int FIELD = 128;
    /** The largest read of a socket, in bytes. */
    private static final int MAX_READ = 512 * 1024;

    private final RequestGrammar grammar = new RequestGrammar();
    private final int maxFields;
    /** Header fields of the head, or of the trailers, that is being decoded. */
    private int fields;
    /** Approximate heap of the message's head and trailers, without {@link #fields}. */
    private int headBytes;

    private boolean inBody;
    private boolean failed;
    private boolean notHttp;

    /**
     * A request decoder.
     *
     * @param maxLine limit of the request line in bytes
     * @param maxHeaders limit of all header fields in bytes
     * @param maxFields limit of header fields, in a head and in trailers
     */
    public StrictRequestDecoder(int maxLine, int maxHeaders, int maxFields) {
        super(new HttpDecoderConfig()
                .setMaxInitialLineLength(maxLine)
                .setMaxHeaderSize(maxHeaders)
                .setMaxChunkSize(MAX_PART)
                .setAllowDuplicateContentLengths(false)
                .setStrictLineParsing(true)
                .setValidateHeaders(true));
        this.maxFields = maxFields;
    }

    /**
     * What the connection holds of requests, in bytes: their heads until their bodies have ended, and what was received
     * and not decoded, with the rest of its buffer.
     */
    public final long held() {
        long received =
                actualReadableBytes() == 0 ? 0 : Math.min(internalBuffer().capacity(), MAX_READ);
        return received + headBytes + (long) fields * FIELD;
    }

    @Override
    protected void decode(ChannelHandlerContext ctx, ByteBuf in, List<Object> out) throws Exception {
        if (failed) {
            in.skipBytes(in.readableBytes());
            return;
        }
        int from = in.readerIndex();
        try {
            grammar.check(in);
        } catch (OipException violation) {
            in.skipBytes(in.readableBytes());
            out.add(refused(violation));
            fail();
            return;
        }
        int before = out.size();
        super.decode(ctx, in, out);
        grammar.decoded(in.readerIndex() - from);
        if (!inBody || grammar.trailers()) {
            headBytes += in.readerIndex() - from;
        }
        for (int i = before; i < out.size() && !failed; i++) {
            decoded((HttpObject) out.get(i));
        }
        if (notHttp) {
            out.subList(before, out.size()).forEach(ReferenceCountUtil::release);
            out.subList(before, out.size()).clear();
            ctx.close();
        }
    }

    /** Nothing more is decoded. */
    private void fail() {
        failed = true;
        headBytes = 0;
        fields = 0;
    }

    private HttpObject refused(OipException violation) {
        HttpObject refused = inBody ? new DefaultLastHttpContent() : createInvalidMessage();
        refused.setDecoderResult(DecoderResult.failure(violation));
        return refused;
    }

    private void decoded(HttpObject part) {
        if (part.decoderResult().isFailure()) {
            fail();
            return;
        }
        if (part instanceof HttpRequest request) {
            inBody = true;
            headBytes += fields * FIELD;
            fields = 0;
            grammar.bodyBegins(HttpUtil.isTransferEncodingChunked(request));
        }
        if (part instanceof LastHttpContent) {
            inBody = false;
            headBytes = 0;
            fields = 0;
            grammar.messageEnded();
        }
    }

    @Override
    protected String splitFirstWordInitialLine(byte[] line, int start, int length) {
        if (start > 0) {
            throw RequestGrammar.malformedLine();
        }
        return super.splitFirstWordInitialLine(line, start, length);
    }

    @Override
    protected String splitSecondWordInitialLine(byte[] line, int start, int length) {
        RequestGrammar.requireOneSpace(line, start);
        RequestGrammar.requireVisible(line, start, length);
        return super.splitSecondWordInitialLine(line, start, length);
    }

    @Override
    protected String splitThirdWordInitialLine(byte[] line, int start, int length) {
        String version = super.splitThirdWordInitialLine(line, start, length);
        if (!version.contains(HTTP)) {
            notHttp = true;
        } else if (!version.equals("HTTP/1.1") && !version.equals("HTTP/1.0")) {
            throw RequestGrammar.wrongVersion(version);
        }
        RequestGrammar.requireOneSpace(line, start);
        return version;
    }

    @Override
    protected AsciiString splitHeaderName(byte[] line, int start, int length) {
        if (++fields > maxFields) {
            throw RequestGrammar.tooManyFields(maxFields);
        }
        AsciiString name = super.splitHeaderName(line, start, length);
        if (inBody) {
            RequestGrammar.requireTrailer(name);
        }
        return name;
    }

    @Override
    protected void handleTransferEncodingChunkedWithContentLength(HttpMessage message) {
        throw new OipException(
                ErrorCode.INVALID_ARGUMENT, "one of Transfer-Encoding and Content-Length is expected, got both");
    }
}
