package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.net.StrictRequestDecoder;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.http.HttpResponseEncoder;
import io.netty.handler.timeout.ReadTimeoutHandler;
import java.util.concurrent.TimeUnit;

/** Every pipeline of the ingress. */
final class Pipelines extends ChannelInitializer<Channel> {
    private static final int HEAD_TIMEOUT_SECONDS = 10;
    private static final String HEAD_TIMEOUT = "head-timeout";

    private final Entry entry;

    Pipelines(Entry entry) {
        this.entry = entry;
    }

    @Override
    protected void initChannel(Channel channel) {
        // A connection that says nothing is closed.
        channel.pipeline()
                .addLast(HEAD_TIMEOUT, new ReadTimeoutHandler(HEAD_TIMEOUT_SECONDS, TimeUnit.SECONDS))
                .addLast(new ProtocolDetector(this));
    }

    void http1(ChannelPipeline pipeline) {
        pipeline.remove(HEAD_TIMEOUT);
        pipeline.addLast(
                new StrictRequestDecoder(IngressSettings.MAX_REQUEST_LINE, IngressSettings.MAX_HEADER_BYTES),
                new HttpResponseEncoder(),
                new Http1Handler(entry));
    }

    void http2(ChannelPipeline pipeline) {
        pipeline.remove(HEAD_TIMEOUT);
        pipeline.addLast(new Http2Ingress.Builder(entry).build());
    }
}
