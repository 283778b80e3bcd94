package dev.isthmus.gateway.ingress;

import io.netty.buffer.ByteBuf;
import java.util.Map;

/** Adds the headers of {@link CorsPolicy} to a response, so that the page may read it. */
final class CorsResponseWriter implements ResponseWriter {
    private final ResponseWriter writer;
    private final Map<String, String> headers;

    CorsResponseWriter(ResponseWriter writer, Map<String, String> headers) {
        this.writer = writer;
        this.headers = headers;
    }

    @Override
    public void respond(RestResponse response) {
        writer.respond(CorsPolicy.add(response, headers));
    }

    @Override
    public void begin(RestResponse head) {
        writer.begin(CorsPolicy.add(head, headers));
    }

    @Override
    public boolean abortable() {
        return writer.abortable();
    }

    @Override
    public void abort() {
        writer.abort();
    }

    @Override
    public void part(ByteBuf part) {
        writer.part(part);
    }

    @Override
    public void endBody() {
        writer.endBody();
    }

    @Override
    public long queued() {
        return writer.queued();
    }

    @Override
    public boolean isWritable() {
        return writer.isWritable();
    }

    @Override
    public void resumeRequest() {
        writer.resumeRequest();
    }
}
