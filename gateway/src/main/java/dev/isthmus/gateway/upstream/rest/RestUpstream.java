package dev.isthmus.gateway.upstream.rest;

import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Cancellation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.Wire;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpVersion;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/** A server that speaks V2 REST, over HTTP/1.1 connections that are kept and reused on each event loop. */
public final class RestUpstream implements Upstream {

    /** Whether a server knows the binary tensor data extension. */
    public enum BinaryTensorData {
        /** As its server metadata says. */
        AUTO,
        TRUE,
        FALSE
    }

    private static final String EXTENSION = "binary_tensor_data";

    private final UpstreamSettings settings;
    private final Transport transport;
    private final BinaryTensorData binaryTensorData;
    private final Map<EventLoop, ConnectionPool> pools = new ConcurrentHashMap<>();
    private volatile boolean extensionSeen;

    public RestUpstream(UpstreamSettings settings, Transport transport, BinaryTensorData binaryTensorData) {
        this.settings = settings;
        this.transport = transport;
        this.binaryTensorData = binaryTensorData;
    }

    @Override
    public String name() {
        return settings.name();
    }

    @Override
    public Wire wire() {
        return Wire.REST;
    }

    @Override
    public boolean binaryTensorData() {
        return switch (binaryTensorData) {
            case AUTO -> extensionSeen;
            case TRUE -> true;
            case FALSE -> false;
        };
    }

    @Override
    public Cancellation infer(Call call, ModelRef model, InferMessage message, Reply reply) {
        RestBody body = ((InferMessage.Rest) message).body();
        FullHttpRequest request = request(call, HttpMethod.POST, path(model) + "/infer", body.content());
        request.headers()
                .setInt(HttpHeaderNames.CONTENT_LENGTH, body.content().readableBytes())
                .set(HttpHeaderNames.CONTENT_TYPE, body.binary() ? "application/octet-stream" : "application/json");
        if (body.binary()) {
            request.headers().set("Inference-Header-Content-Length", body.jsonLength());
        }
        return send(call, request, reply, response -> {
            response.requireOk();
            return new Answer.Inference(
                    new InferMessage.Rest(new RestBody(response.takeBody(), response.jsonLength())));
        });
    }

    @Override
    public Cancellation serverReady(Call call, Reply reply) {
        if (binaryTensorData == BinaryTensorData.AUTO && !extensionSeen) {
            learnExtension(call);
        }
        return get(call, "/v2/health/ready", reply, response -> new Answer.Ready(response.ok()));
    }

    /** Asks along with the readiness probe, until the answer has come. */
    private void learnExtension(Call call) {
        serverMetadata(call, new Reply() {
            @Override
            public void message(Answer answer) {
                extensionSeen = answer instanceof Answer.Server server
                        && server.metadata().extensions().contains(EXTENSION);
            }

            @Override
            public void complete() {}

            @Override
            public void fail(OipException failure) {}
        });
    }

    @Override
    public Cancellation serverMetadata(Call call, Reply reply) {
        return get(call, "/v2", reply, response -> {
            response.requireOk();
            return new Answer.Server(RestMetadata.server(response.bodyBytes()));
        });
    }

    @Override
    public Cancellation modelReady(Call call, ModelRef model, Reply reply) {
        return get(call, path(model) + "/ready", reply, response -> {
            // What servers say of a model that they do not have, or that is not ready: R2.
            boolean no = response.status() == 400 || response.status() == 404 || response.status() == 503;
            if (!no) {
                response.requireOk();
            }
            return new Answer.ModelReady(model, !no);
        });
    }

    @Override
    public Cancellation modelMetadata(Call call, ModelRef model, Reply reply) {
        return get(call, path(model), reply, response -> {
            response.requireOk();
            return new Answer.Model(RestMetadata.model(response.bodyBytes()));
        });
    }

    private Cancellation get(Call call, String path, Reply reply, Function<RestAnswer, Answer> answer) {
        return send(call, request(call, HttpMethod.GET, path, Unpooled.EMPTY_BUFFER), reply, answer);
    }

    private Cancellation send(Call call, FullHttpRequest request, Reply reply, Function<RestAnswer, Answer> answer) {
        if (!(call.loop() instanceof EventLoop loop)) {
            request.release();
            throw new OipException(ErrorCode.INTERNAL, "a call lives on an event loop");
        }
        ConnectionPool pool = pools.computeIfAbsent(loop, own -> new ConnectionPool(settings, transport, own));
        HttpExchange exchange = new HttpExchange(settings, pool, request, reply, answer);
        exchange.start(loop, settings.nanosLeft(call));
        return exchange;
    }

    private static FullHttpRequest request(Call call, HttpMethod method, String path, ByteBuf body) {
        FullHttpRequest request = new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, method, path, body);
        call.headers().forEach((name, value) -> request.headers().set(name, value));
        return request;
    }

    private static String path(ModelRef model) {
        String path = "/v2/models/" + encode(model.name());
        return model.version().isEmpty() ? path : path + "/versions/" + encode(model.version());
    }

    private static String encode(String segment) {
        return URLEncoder.encode(segment, StandardCharsets.UTF_8).replace("+", "%20");
    }

    @Override
    public void close() {
        pools.values().forEach(ConnectionPool::close);
    }
}
