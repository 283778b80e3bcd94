package dev.isthmus.gateway.admin;

import dev.isthmus.gateway.http1.FieldSection;
import dev.isthmus.gateway.http1.HeadLimits;
import dev.isthmus.gateway.http1.Http1Parser.ParserEvent;
import dev.isthmus.gateway.http1.Http1Request;
import dev.isthmus.gateway.http1.RequestParser;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.ByteToMessageDecoder;
import io.netty.handler.codec.DecoderResult;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import java.util.List;

/** Reads requests by the same grammar as those of the gateway's clients. The first malformed one is the last. */
final class AdminRequestDecoder extends ByteToMessageDecoder {
    private static final HeadLimits LIMITS = new HeadLimits("request line", 8 * 1024, 16 * 1024, 100);
    private static final int MAX_PART = 64 * 1024;

    private final RequestParser parser = new RequestParser(LIMITS, MAX_PART);
    private boolean inBody;

    @Override
    protected void decode(ChannelHandlerContext ctx, ByteBuf in, List<Object> out) {
        try {
            ParserEvent event = parser.next(in);
            switch (event) {
                case MORE -> {}
                case FOREIGN -> ctx.close();
                case HEAD -> out.add(request(parser.request()));
                case CONTENT -> out.add(content(parser.content()));
                case END -> out.add(LastHttpContent.EMPTY_LAST_CONTENT);
            }
            if (event == ParserEvent.HEAD && parser.ended()) {
                out.add(LastHttpContent.EMPTY_LAST_CONTENT);
            }
            inBody = parser.begun() && (inBody || event == ParserEvent.HEAD);
        } catch (OipException malformed) {
            in.skipBytes(in.readableBytes());
            HttpObject refused = inBody
                    ? new DefaultLastHttpContent()
                    : new DefaultHttpRequest(HttpVersion.HTTP_1_0, HttpMethod.GET, "/");
            refused.setDecoderResult(DecoderResult.failure(malformed));
            out.add(refused);
        }
    }

    private static HttpRequest request(Http1Request head) {
        HttpRequest request = new DefaultHttpRequest(
                head.http10() ? HttpVersion.HTTP_1_0 : HttpVersion.HTTP_1_1,
                HttpMethod.valueOf(head.method()),
                head.target());
        FieldSection fields = head.fields();
        for (int i = 0; i < fields.size(); i++) {
            request.headers().add(fields.name(i), fields.value(i));
        }
        return request;
    }

    /** @param part taken */
    private HttpObject content(ByteBuf part) {
        return parser.ended() ? new DefaultLastHttpContent(part) : new DefaultHttpContent(part);
    }
}
