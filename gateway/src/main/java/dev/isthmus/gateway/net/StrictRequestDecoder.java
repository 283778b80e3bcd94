package dev.isthmus.gateway.net;

import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpMessage;
import io.netty.handler.codec.http.HttpRequestDecoder;

/** Netty's decoder with limits, and without its tolerance for two ways of giving a body's length. */
public class StrictRequestDecoder extends HttpRequestDecoder {
    private static final int MAX_PART = 256 * 1024;

    /**
     * A decoder of requests.
     *
     * @param maxLine bytes of a request line
     * @param maxHeaders bytes of all header fields
     */
    public StrictRequestDecoder(int maxLine, int maxHeaders) {
        super(new HttpDecoderConfig()
                .setMaxInitialLineLength(maxLine)
                .setMaxHeaderSize(maxHeaders)
                .setMaxChunkSize(MAX_PART)
                .setAllowDuplicateContentLengths(false)
                .setValidateHeaders(true));
    }

    @Override
    protected void handleTransferEncodingChunkedWithContentLength(HttpMessage message) {
        throw new IllegalArgumentException("both Transfer-Encoding and Content-Length are given");
    }
}
