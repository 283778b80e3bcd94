package dev.isthmus.gateway.upstream.rest;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.upstream.ConnectionCounts;
import dev.isthmus.gateway.upstream.PerLoop;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamFailures;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A server that speaks REST over plaintext HTTP/1.1. Each event loop has its own connections, so that a call never
 * leaves its loop. Cancelling closes the connection, since HTTP/1.1 has no other way. The reply may be called before
 * the method returns.
 */
public final class RestUpstream implements Upstream {
    private final UpstreamSettings settings;
    private final UpstreamFailures failures;
    private final RestResponses responses;
    private final ServerCapabilities capabilities;
    private final ConnectionCounts connections = new ConnectionCounts();
    private final PerLoop<RestConnectionPool> pools;

    public RestUpstream(
            UpstreamSettings settings, ServerCapabilities capabilities, PoolLimits limits, ByteBufAllocator allocator) {
        this(settings, capabilities, limits, allocator, System::nanoTime);
    }

    /** @param nanoTime tells how long connections are idle */
    RestUpstream(
            UpstreamSettings settings,
            ServerCapabilities capabilities,
            PoolLimits limits,
            ByteBufAllocator allocator,
            LongSupplier nanoTime) {
        this.settings = settings;
        this.failures = new UpstreamFailures(settings.name(), settings.ending());
        this.responses = new RestResponses(failures);
        this.capabilities = capabilities;
        this.pools = new PerLoop<>(
                loop -> RestConnectionPool.open(settings, limits, failures, connections, loop, allocator, nanoTime),
                RestConnectionPool::close,
                failures::closed);
    }

    @Override
    public String name() {
        return settings.name();
    }

    @Override
    public ConnectionCounts connections() {
        return connections;
    }

    @Override
    public List<String> extensions() {
        return capabilities.extensions();
    }

    @Override
    public ServerFeatures peer() {
        return capabilities.peer(Wire.REST);
    }

    @Override
    public Subscription infer(Call call, ModelRef model, InferMessage message, Reply reply) {
        return infer(call, model, "/infer", message, new InferenceReaders(), reply);
    }

    private final class InferenceReaders implements RestResponseHandler {
        @Override
        public ReplyMessage read(int status, HttpHeaders headers, ByteBuf body) {
            return responses.inference(status, headers, body);
        }

        @Override
        public @Nullable PartReader passed(int status, HttpHeaders headers, long length, Reply reply) {
            return responses.passed(status, headers, length, reply);
        }

        @Override
        public long maxBytes(UpstreamSettings server) {
            return server.maxMessageBytes();
        }
    }

    private final class GeneratedReader implements RestResponseHandler {
        @Override
        public ReplyMessage read(int status, HttpHeaders headers, ByteBuf body) {
            return responses.generated(status, body);
        }

        @Override
        public long maxBytes(UpstreamSettings server) {
            return server.maxMessageBytes();
        }
    }

    private final class DocumentHandler implements RestResponseHandler {
        @Override
        public ReplyMessage read(int status, HttpHeaders headers, ByteBuf body) {
            return responses.document(status, body);
        }

        @Override
        public long maxBytes(UpstreamSettings server) {
            return server.maxDocumentBytes();
        }
    }

    @Override
    public Subscription inferEvents(Call call, ModelRef model, InferMessage message, Reply reply) {
        if (!capabilities.dialect().eventsOverRest()) {
            return infer(call, model, message, reply);
        }
        return infer(
                call,
                model,
                "/infer_stream",
                message,
                new EventStreamReader(call, new InferenceReaders(), false),
                reply);
    }

    @Override
    public Subscription generate(Call call, Operation.Generate generate, ByteBuf body, Reply reply) {
        RestResponseHandler document = new GeneratedReader();
        RestResponseHandler reader = generate.stream() ? new EventStreamReader(call, document, true) : document;
        String verb = generate.stream() ? "/generate_stream" : "/generate";
        return post(call, () -> ModelPath.of(requested(generate.model())) + verb, body, reader, reply);
    }

    @Override
    public Subscription manage(Call call, Operation.Manage manage, ByteBuf body, Reply reply) {
        RestResponseHandler reader = new DocumentHandler();
        if (!manage.change()) {
            body.release();
            return get(call, () -> path(manage), reader, reply);
        }
        // MLServer requires a body, Triton does not.
        ByteBuf json = body;
        if (!body.isReadable()) {
            body.release();
            json = Unpooled.copiedBuffer("{}", StandardCharsets.US_ASCII);
        }
        return post(call, () -> path(manage), json, reader, reply);
    }

    private static String path(Operation.Manage manage) {
        return manage.extension().path(manage.model(), manage.resource(), ModelPath::segment);
    }

    /** KServe's server rejects every path with a version. */
    private ModelRef requested(ModelRef model) {
        return capabilities.dialect().versions() ? model : ModelRef.of(model.name());
    }

    /** Reads server-sent events, raw or each as a response; any other response as a whole. */
    private final class EventStreamReader implements RestResponseHandler {
        private final Call call;
        private final RestResponseHandler complete;
        private final boolean raw;

        EventStreamReader(Call call, RestResponseHandler complete, boolean raw) {
            this.call = call;
            this.complete = complete;
            this.raw = raw;
        }

        @Override
        public ReplyMessage read(int status, HttpHeaders headers, ByteBuf body) {
            return complete.read(status, headers, body);
        }

        @Override
        public long maxBytes(UpstreamSettings server) {
            return server.maxMessageBytes();
        }

        @Override
        public @Nullable PartReader parts(int status, HttpHeaders headers, Reply reply) {
            String type = headers.get(HttpHeaderNames.CONTENT_TYPE);
            if (status != HttpResponseStatus.OK.code() || type == null || !type.startsWith("text/event-stream")) {
                return null;
            }
            return raw
                    ? new CheckedEvents(call, reply, failures, settings.maxMessageBytes())
                    : new EventReader(reply, failures, call.allocator(), settings.maxMessageBytes());
        }
    }

    private Subscription infer(
            Call call, ModelRef model, String verb, InferMessage message, RestResponseHandler reader, Reply reply) {
        RestRequestSpec request;
        try {
            if (!(message instanceof InferMessage.RestMessage rest)) {
                throw failures.failure(ErrorCode.INTERNAL, "expects REST, got " + message.wire(), null);
            }
            request = RestRequestSpec.infer(ModelPath.of(requested(model)) + verb, call.headers(), rest.body());
        } catch (OipException e) {
            message.release();
            reply.fail(e);
            return Subscription.NONE;
        }
        return send(call, request, reader, reply);
    }

    @Override
    public Subscription serverReady(Call call, Reply reply) {
        RestResponseHandler reader = (status, headers, body) -> responses.serverReady(status, body);
        return get(call, () -> "/v2/health/ready", reader, reply);
    }

    @Override
    public Subscription serverMetadata(Call call, Reply reply) {
        return get(call, () -> "/v2", this::serverMetadata, reply);
    }

    private ReplyMessage serverMetadata(int status, HttpHeaders headers, ByteBuf body) {
        ReplyMessage.Server server = responses.serverMetadata(status, body);
        capabilities.learn(server.metadata());
        return server;
    }

    @Override
    public Subscription modelReady(Call call, ModelRef model, Reply reply) {
        RestResponseHandler reader = (status, headers, body) -> responses.modelReady(model, status, body);
        return getModel(call, model, "/ready", reader, reply);
    }

    @Override
    public Subscription modelMetadata(Call call, ModelRef model, Reply reply) {
        RestResponseHandler reader = (status, headers, body) -> responses.modelMetadata(status, body);
        return getModel(call, model, "", reader, reply);
    }

    @Override
    public Subscription modelNames(Call call, Reply reply) {
        return get(call, () -> "/v2/models", new DocumentHandler(), reply);
    }

    private Subscription getModel(Call call, ModelRef model, String what, RestResponseHandler reader, Reply reply) {
        return get(call, () -> ModelPath.of(requested(model)) + what, reader, reply);
    }

    /** The body is taken. */
    private Subscription post(Call call, Supplier<String> path, ByteBuf body, RestResponseHandler reader, Reply reply) {
        RestRequestSpec request;
        try {
            request = RestRequestSpec.json(HttpMethod.POST, path.get(), call.headers(), body);
        } catch (OipException e) {
            body.release();
            reply.fail(e);
            return Subscription.NONE;
        }
        return send(call, request, reader, reply);
    }

    private Subscription get(Call call, Supplier<String> path, RestResponseHandler reader, Reply reply) {
        RestRequestSpec request;
        try {
            request = RestRequestSpec.get(path.get(), call.headers());
        } catch (OipException e) {
            reply.fail(e);
            return Subscription.NONE;
        }
        return send(call, request, reader, reply);
    }

    /** The request is taken. */
    private Subscription send(Call call, RestRequestSpec request, RestResponseHandler reader, Reply reply) {
        if (call.hasDeadline()) {
            request.withTimeout(settings.nanosLeft(call));
        }
        RestConnectionPool pool;
        try {
            pool = pools.of(call.loop());
        } catch (OipException e) {
            request.release();
            reply.fail(e);
            return Subscription.NONE;
        }
        Exchange exchange = new Exchange(pool, request, reader, reply, failures, settings, call.memory());
        boolean stream = reader instanceof EventStreamReader;
        exchange.start(call.loop(), stream ? settings.nanosLeftOfStream(call) : settings.nanosLeft(call));
        return exchange;
    }

    @Override
    public void close() {
        pools.close();
    }
}
