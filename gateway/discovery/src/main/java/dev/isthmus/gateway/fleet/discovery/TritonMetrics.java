package dev.isthmus.gateway.fleet.discovery;

import dev.isthmus.gateway.fleet.ClusterResources.QueueDepthSource;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.SecretText;
import dev.isthmus.gateway.tls.ClientTls;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Reads Triton's queue depth from its metrics, over a new connection each time. Runs on one event loop. */
public final class TritonMetrics implements QueueDepthSource {
    private static final String PENDING = "nv_inference_pending_request_count";
    /** The labels of a metric, its finite value, and a timestamp that may follow. */
    private static final String VALUE =
            "(?>\\{.*\\}|\\h)\\h*([-+]?(?:\\d++(?:\\.\\d*+)?|\\.\\d++)(?:[eE][-+]?\\d++)?)(?!\\S)";

    private static final int MAX_BYTES = 4 << 20;
    /** To connect, and from then on until the end of the response. */
    private static final int TIMEOUT_MILLIS = 1_000;

    private final Bootstrap bootstrap;
    private final @Nullable ClientTls tls;

    /** @param tls null for plain text */
    public TritonMetrics(EventLoop loop, @Nullable ClientTls tls) {
        this.tls = tls;
        bootstrap = new Bootstrap()
                .group(loop)
                .channel(Transport.of(loop).clientChannel())
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, TIMEOUT_MILLIS);
    }

    @Override
    public void read(Endpoint metrics, String authority, Map<String, SecretText> headers, LongConsumer result) {
        MetricsReader reader = new MetricsReader(metrics.authority(), headers, result);
        bootstrap
                .clone()
                .handler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        if (tls != null) {
                            tls.to(authority).addHttp1(channel, Duration.ofMillis(TIMEOUT_MILLIS));
                        }
                        channel.pipeline().addLast(new HttpClientCodec(), new HttpObjectAggregator(MAX_BYTES), reader);
                    }
                })
                .connect(metrics.address())
                .addListener((ChannelFuture connected) -> {
                    if (!connected.isSuccess()) {
                        // Too many open files are told by another thread.
                        bootstrap.config().group().execute(() -> reader.end(UNKNOWN));
                    }
                });
    }

    /** The sum of a metric in the Prometheus text format over all its labels; empty if it is absent. */
    static OptionalDouble sum(String text, String metric) {
        return Pattern.compile("^" + metric + VALUE, Pattern.MULTILINE)
                .matcher(text)
                .results()
                .mapToDouble(line -> Double.parseDouble(line.group(1)))
                .filter(Double::isFinite)
                .reduce(Double::sum);
    }

    private static long pending(FullHttpResponse response) {
        if (!response.status().equals(HttpResponseStatus.OK)) {
            return UNKNOWN;
        }
        OptionalDouble sum = sum(response.content().toString(StandardCharsets.UTF_8), PENDING);
        return sum.isPresent() && sum.getAsDouble() >= 0 ? Math.round(sum.getAsDouble()) : UNKNOWN;
    }

    private static final class MetricsReader extends SimpleChannelInboundHandler<FullHttpResponse> {
        private final String authority;
        private final Map<String, SecretText> headers;
        private final LongConsumer result;
        private boolean ended;

        MetricsReader(String authority, Map<String, SecretText> headers, LongConsumer result) {
            this.authority = authority;
            this.headers = headers;
            this.result = result;
        }

        void end(long pending) {
            if (!ended) {
                ended = true;
                result.accept(pending);
            }
        }

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            var request = new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, "/metrics");
            request.headers().set(HttpHeaderNames.HOST, authority).set(HttpHeaderNames.CONNECTION, "close");
            headers.forEach((name, value) -> request.headers().set(name, value.value()));
            ctx.writeAndFlush(request, ctx.voidPromise());
            ctx.executor().schedule(() -> ctx.close(), TIMEOUT_MILLIS, TimeUnit.MILLISECONDS);
        }

        @Override
        protected void channelRead0(ChannelHandlerContext ctx, FullHttpResponse response) {
            end(pending(response));
            ctx.close();
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            end(UNKNOWN);
        }

        /** The queue depth stays unknown until the next poll. */
        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            end(UNKNOWN);
            ctx.close();
        }
    }
}
