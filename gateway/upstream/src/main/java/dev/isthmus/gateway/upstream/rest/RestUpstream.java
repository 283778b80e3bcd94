package dev.isthmus.gateway.upstream.rest;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.ModelAction;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.ServerPath;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.upstream.ConnectionCounts;
import dev.isthmus.gateway.upstream.PerLoop;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamFailures;
import dev.isthmus.gateway.upstream.UpstreamRequest;
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
    public Subscription send(Call call, UpstreamRequest request, Reply reply) {
        return switch (request) {
            case UpstreamRequest.InferenceRequest infer -> infer(call, infer, reply);
            case UpstreamRequest.GenerateRequest generate -> generate(call, generate, reply);
            case UpstreamRequest.ManageRequest manage -> manage(call, manage, reply);
            case UpstreamRequest.ServerReadyRequest _ ->
                get(call, ServerPath.READY::path, (status, _, body) -> responses.serverReady(status, body), reply);
            case UpstreamRequest.ServerMetadataRequest _ ->
                get(call, ServerPath.METADATA::path, this::serverMetadata, reply);
            case UpstreamRequest.ModelReadyRequest(ModelRef model) ->
                get(
                        call,
                        () -> path(model, ModelAction.READY.suffix()),
                        (status, _, body) -> responses.modelReady(model, status, body),
                        reply);
            case UpstreamRequest.ModelMetadataRequest(ModelRef model) ->
                get(call, () -> path(model, ""), (status, _, body) -> responses.modelMetadata(status, body), reply);
            case UpstreamRequest.ModelNamesRequest _ -> get(call, () -> "/v2/models", new DocumentHandler(), reply);
            case UpstreamRequest.InferenceInParts parts ->
                unsupported(parts, "does not support requests in parts", reply);
        };
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

    private Subscription generate(Call call, UpstreamRequest.GenerateRequest generate, Reply reply) {
        boolean stream = generate.operation().stream();
        RestResponseHandler document = new GeneratedReader();
        RestResponseHandler reader = stream ? new EventStreamReader(call, document, true) : document;
        ModelAction action = stream ? ModelAction.GENERATE_STREAM : ModelAction.GENERATE;
        return post(call, () -> path(generate.model(), action.suffix()), generate.body(), reader, reply);
    }

    private Subscription manage(Call call, UpstreamRequest.ManageRequest manage, Reply reply) {
        Operation.Manage operation = manage.operation();
        RestResponseHandler reader = new DocumentHandler();
        if (!operation.change()) {
            manage.release();
            return get(call, () -> path(operation), reader, reply);
        }
        // MLServer requires a body, Triton does not.
        ByteBuf json = manage.body();
        if (!json.isReadable()) {
            json.release();
            json = Unpooled.copiedBuffer("{}", StandardCharsets.US_ASCII);
        }
        return post(call, () -> path(operation), json, reader, reply);
    }

    private static String path(Operation.Manage manage) {
        return manage.extension().path(manage.model(), manage.resource(), ModelPath::segment);
    }

    /** KServe's server rejects every path with a version. */
    private String path(ModelRef model, String action) {
        return ModelPath.of(capabilities.dialect().versions() ? model : ModelRef.of(model.name())) + action;
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

    private Subscription infer(Call call, UpstreamRequest.InferenceRequest infer, Reply reply) {
        boolean events = infer.events() && capabilities.dialect().eventsOverRest();
        RestResponseHandler whole = new InferenceReaders();
        RestRequestSpec request;
        try {
            if (!(infer.message() instanceof InferMessage.RestMessage rest)) {
                throw failures.failure(
                        ErrorCode.INTERNAL,
                        "expects REST, got " + infer.message().wire(),
                        null);
            }
            String path = path(infer.model(), (events ? ModelAction.INFER_STREAM : ModelAction.INFER).suffix());
            request = RestRequestSpec.infer(path, call.headers(), rest.body());
        } catch (OipException e) {
            infer.release();
            reply.fail(e);
            return Subscription.NONE;
        }
        return send(call, request, events ? new EventStreamReader(call, whole, false) : whole, reply);
    }

    private ReplyMessage serverMetadata(int status, HttpHeaders headers, ByteBuf body) {
        ReplyMessage.Server server = responses.serverMetadata(status, body);
        capabilities.learn(server.metadata());
        return server;
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
        RestCall exchange = new RestCall(pool, request, reader, reply, failures, settings, call.memory());
        boolean stream = reader instanceof EventStreamReader;
        exchange.start(call.loop(), stream ? settings.nanosLeftOfStream(call) : settings.nanosLeft(call));
        return exchange;
    }

    @Override
    public void close() {
        pools.close();
    }
}
