package dev.isthmus.gateway.ingress;

import io.netty.channel.AdaptiveRecvByteBufAllocator;
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

    private static final int LARGEST_READ = 512 * 1024;
    private static final AdaptiveRecvByteBufAllocator READS =
            new AdaptiveRecvByteBufAllocator(512, 8 * 1024, LARGEST_READ);
    /** Of all connections of a listener. */
    private static final long MOST_AHEAD = 64L << 20;

    private final Entry entry;
    private final ReadAhead ahead = new ReadAhead(MOST_AHEAD);

    Pipelines(Entry entry) {
        this.entry = entry;
    }

    @Override
    protected void initChannel(Channel channel) {
        Landing landing = new Landing(Landing.Sizes.DEFAULT, ahead);
        channel.config().setRecvByteBufAllocator(new LandingReads(READS, landing));
        // A connection that says nothing is closed.
        channel.pipeline()
                .addLast(HEAD_TIMEOUT, new ReadTimeoutHandler(HEAD_TIMEOUT_SECONDS, TimeUnit.SECONDS))
                .addLast(new ProtocolDetector(this, landing));
    }

    void http1(ChannelPipeline pipeline, Landing landing) {
        pipeline.remove(HEAD_TIMEOUT);
        requests(pipeline, landing);
    }

    /** HTTP/1.1, whose connection reads as {@code landing} has it. */
    void requests(ChannelPipeline pipeline, Landing landing) {
        Http1Handler handler = new Http1Handler(entry, landing);
        pipeline.addLast(handler.decoder(), new HttpResponseEncoder(), handler);
    }

    void http2(ChannelPipeline pipeline) {
        pipeline.remove(HEAD_TIMEOUT);
        pipeline.addLast(Http2Ingress.connection(pipeline.channel(), entry));
    }
}
