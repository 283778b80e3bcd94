package dev.isthmus.gateway.ingress;

import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpMessage;
import io.netty.handler.codec.http.HttpRequestDecoder;

/** Netty's decoder with the ingress's limits, and without its tolerance for two ways of giving a body's length. */
final class StrictRequestDecoder extends HttpRequestDecoder {
    private static final int MAX_PART = 256 * 1024;

    StrictRequestDecoder() {
        super(new HttpDecoderConfig()
                .setMaxInitialLineLength(IngressSettings.MAX_REQUEST_LINE)
                .setMaxHeaderSize(IngressSettings.MAX_HEADER_BYTES)
                .setMaxChunkSize(MAX_PART)
                .setAllowDuplicateContentLengths(false)
                .setValidateHeaders(true));
    }

    @Override
    protected void handleTransferEncodingChunkedWithContentLength(HttpMessage message) {
        throw new IllegalArgumentException("both Transfer-Encoding and Content-Length are given");
    }
}
