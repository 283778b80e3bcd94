package dev.isthmus.gateway.upstream.rest;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.OperationKind.ModelAction;
import dev.isthmus.gateway.call.OperationKind.ServerPath;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.http1.FieldSection;
import dev.isthmus.gateway.settings.NameGrammar;
import dev.isthmus.gateway.settings.SecretText;
import dev.isthmus.gateway.upstream.RemoteServer;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.gateway.upstream.rest.RestRequestSpec.CommonFields;
import dev.isthmus.gateway.upstream.rest.RestResponseHandler.PartReader;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.ExpectedOrigin;
import dev.isthmus.transcoder.message.Wire;
import dev.isthmus.transcoder.rest.RestBody;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpResponseStatus;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A server that speaks REST over HTTP/1.1. Cancelling closes the connection, since HTTP/1.1 has no other way.
 */
public final class RestUpstream extends RemoteServer<RestConnectionPool> {
    /** MLServer requires a body, Triton does not. */
    private static final ByteBuf EMPTY_OBJECT =
            Unpooled.unreleasableBuffer(Unpooled.wrappedBuffer(new byte[] {'{', '}'}));

    private final PoolLimits limits;
    private final LongSupplier nanoTime;
    private final RestResponses responses;
    private volatile CommonFields common;

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
        super(Wire.REST, settings, capabilities, allocator);
        this.limits = limits;
        this.nanoTime = nanoTime;
        this.responses = new RestResponses(failures());
        this.common = new CommonFields(settings, Map.of());
    }

    @Override
    protected RestConnectionPool createPool(EventLoop loop) {
        return new RestConnectionPool(this, loop);
    }

    PoolLimits limits() {
        return limits;
    }

    /** The fields of a request that is made now. */
    CommonFields common() {
        return common;
    }

    long nanoTime() {
        return nanoTime.getAsLong();
    }

    @Override
    public void ownHeaders(Map<String, SecretText> headers) {
        common = new CommonFields(settings(), headers);
    }

    @Override
    public Subscription send(Call call, UpstreamRequest request, Reply reply) {
        boolean events = request.endless()
                && (request instanceof UpstreamRequest.GenerateRequest
                        || capabilities().dialect().eventsOverRest());
        RestCall exchange;
        try {
            exchange = exchange(call, request, events, reply);
        } catch (OipException e) {
            return Upstream.refuse(request, e, reply);
        }
        exchange.start(events ? settings().nanosLeftOfStream(call) : settings().nanosLeft(call));
        return exchange;
    }

    /**
     * A call that has not started. The request is taken, unless this throws.
     *
     * @param events whether the response is a stream of server-sent events
     */
    private RestCall exchange(Call call, UpstreamRequest request, boolean events, Reply reply) {
        return switch (request) {
            case UpstreamRequest.InferenceRequest infer -> infer(call, infer, events, reply);
            case UpstreamRequest.GenerateRequest generate -> generate(call, generate, events, reply);
            case UpstreamRequest.ManageRequest manage -> manage(call, manage, reply);
            case UpstreamRequest.ServerReadyRequest _ ->
                metadata(
                        call, ServerPath.READY.path(), (status, _, body) -> responses.serverReady(status, body), reply);
            case UpstreamRequest.ServerMetadataRequest _ ->
                metadata(call, ServerPath.METADATA.path(), this::serverMetadata, reply);
            case UpstreamRequest.ModelReadyRequest(ModelRef model) ->
                metadata(
                        call,
                        path(model, ModelAction.READY.suffix()),
                        (status, _, body) -> responses.modelReady(model, status, body),
                        reply);
            case UpstreamRequest.ModelMetadataRequest(ModelRef model) ->
                metadata(call, path(model, ""), (status, _, body) -> responses.modelMetadata(status, body), reply);
            case UpstreamRequest.ModelNamesRequest _ ->
                document(call, RestRequestSpec.get(pool(call.loop()), "/v2/models", call), reply);
            case UpstreamRequest.InferenceInParts _ -> throw unsupported("does not support requests in parts");
        };
    }

    private record InferenceReader(RestResponses responses, ExpectedOrigin expected) implements RestResponseHandler {
        @Override
        public ReplyMessage read(int status, FieldSection headers, ByteBuf body) {
            return responses.inference(status, headers, body, expected);
        }

        @Override
        public @Nullable PartReader passed(int status, FieldSection headers, long length, Reply reply) {
            return responses.passed(status, headers, length, reply, expected);
        }
    }

    private RestCall infer(Call call, UpstreamRequest.InferenceRequest infer, boolean events, Reply reply) {
        if (!(infer.message() instanceof InferMessage.RestMessage rest)) {
            throw new OipException(
                    ErrorCode.INTERNAL,
                    "REST is expected, got " + infer.message().wire());
        }
        String path = path(infer.model(), (events ? ModelAction.INFER_STREAM : ModelAction.INFER).suffix());
        RestRequestSpec request = RestRequestSpec.infer(pool(call.loop()), path, call, rest.body());
        ExpectedOrigin origin =
                ExpectedOrigin.of(capabilities().dialect(), infer.model().name(), infer.id());
        RestResponseHandler inference = new InferenceReader(responses, origin);
        RestResponseHandler reader = events ? new EventStreamReader(call, inference, origin) : inference;
        return new RestCall(request, reader, settings().maxMessageBytes(), reply, call.memory());
    }

    private RestCall generate(Call call, UpstreamRequest.GenerateRequest generate, boolean events, Reply reply) {
        RestResponseHandler document = (status, _, body) -> responses.generated(status, body);
        RestResponseHandler reader = events ? new EventStreamReader(call, document, null) : document;
        String path = path(generate.model(), (events ? ModelAction.GENERATE_STREAM : ModelAction.GENERATE).suffix());
        RestRequestSpec request = RestRequestSpec.json(pool(call.loop()), path, call, generate.body());
        return new RestCall(request, reader, settings().maxMessageBytes(), reply, call.memory());
    }

    private RestCall manage(Call call, UpstreamRequest.ManageRequest manage, Reply reply) {
        Operation.Manage operation = manage.operation();
        String path = operation.extension().path(operation.model(), operation.resource(), ModelPath::segment);
        if (operation.change() && manage.body().isReadable()) {
            return document(call, RestRequestSpec.json(pool(call.loop()), path, call, manage.body()), reply);
        }
        RestCall exchange = document(
                call,
                operation.change()
                        ? RestRequestSpec.json(pool(call.loop()), path, call, EMPTY_OBJECT.duplicate())
                        : RestRequestSpec.get(pool(call.loop()), path, call),
                reply);
        manage.release();
        return exchange;
    }

    /** KServe's server rejects every path with a version. */
    private String path(ModelRef model, String action) {
        return ModelPath.of(capabilities().dialect().versions() ? model : ModelRef.of(model.name()), action);
    }

    /** Reads server-sent events, raw or each as a response; any other response as a whole. */
    private final class EventStreamReader implements RestResponseHandler {
        private final Call call;
        private final RestResponseHandler complete;
        /** Of each event; null if they are forwarded as they are. */
        private final @Nullable ExpectedOrigin origin;

        EventStreamReader(Call call, RestResponseHandler complete, @Nullable ExpectedOrigin origin) {
            this.call = call;
            this.complete = complete;
            this.origin = origin;
        }

        @Override
        public ReplyMessage read(int status, FieldSection headers, ByteBuf body) {
            return complete.read(status, headers, body);
        }

        @Override
        public @Nullable PartReader parts(int status, FieldSection headers, Reply reply) {
            String type = headers.get(HttpHeaderNames.CONTENT_TYPE);
            if (status != HttpResponseStatus.OK.code() || type == null || !type.startsWith("text/event-stream")) {
                return null;
            }
            long maxBytes = settings().maxMessageBytes();
            return origin == null
                    ? new CheckedEvents(call, reply, failures(), maxBytes)
                    : new EventReader(reply, responses, origin, call.allocator(), maxBytes);
        }
    }

    private ReplyMessage serverMetadata(int status, FieldSection headers, ByteBuf body) {
        ReplyMessage.Server server = responses.serverMetadata(status, body);
        capabilities().learn(server.metadata());
        return server;
    }

    private RestCall metadata(Call call, String path, RestResponseHandler reader, Reply reply) {
        RestRequestSpec request = RestRequestSpec.get(pool(call.loop()), path, call);
        return new RestCall(request, reader, settings().maxMetadataBytes(), reply, call.memory());
    }

    private RestCall document(Call call, RestRequestSpec request, Reply reply) {
        RestResponseHandler reader = (status, _, body) -> responses.document(status, body);
        return new RestCall(request, reader, settings().maxDocumentBytes(), reply, call.memory());
    }

    /** Paths of the protocol, built from parsed names and never from a client's path. */
    private static final class ModelPath {
        private ModelPath() {}

        /**
         * The path of a model or one of its versions, and of what is done with it.
         *
         * @throws OipException for a name that is not a valid path segment
         */
        static String of(ModelRef model, String action) {
            String version = model.version().isEmpty() ? "" : "/versions/" + segment("model version", model.version());
            return "/v2/models/" + segment("model name", model.name()) + version + action;
        }

        /**
         * A name as one path segment.
         *
         * @throws OipException for a name that is not a valid path segment
         */
        static String segment(String what, String name) {
            NameGrammar.check(what, name);
            // RFC 3986, section 2.3: a form has other unreserved characters.
            return URLEncoder.encode(name, StandardCharsets.UTF_8)
                    .replace("+", "%20")
                    .replace("*", "%2A")
                    .replace("%7E", "~");
        }
    }

    /**
     * Limits of the connections to one endpoint from one event loop.
     *
     * @param connections open at the same time, which also limits the requests in flight
     * @param waiting requests that may wait for a connection
     * @param idle how long an unused connection is kept
     */
    public record PoolLimits(int connections, int waiting, Duration idle) {

        public static final PoolLimits DEFAULT = new PoolLimits(128, 1024, Duration.ofSeconds(60));
    }

    /** Reads server-sent events, each an inference response or an error. */
    static final class EventReader implements PartReader {
        private static final ObjectMapper JSON = new ObjectMapper();
        private static final ByteBuf ERROR =
                Unpooled.unreleasableBuffer(Unpooled.copiedBuffer("{\"error\"", StandardCharsets.US_ASCII));

        private final Reply reply;
        private final RestResponses responses;
        private final ExpectedOrigin expected;
        private final EventParser parser;

        EventReader(
                Reply reply,
                RestResponses responses,
                ExpectedOrigin expected,
                ByteBufAllocator allocator,
                long maxBytes) {
            this.reply = reply;
            this.responses = responses;
            this.expected = expected;
            this.parser = new EventParser(allocator, maxBytes, () -> {
                throw responses.failures().responseTooLarge(maxBytes, null);
            });
        }

        @Override
        public void part(ByteBuf part) {
            try {
                parser.feed(part, this::event);
            } finally {
                part.release();
            }
        }

        private void event(ByteBuf data) {
            if (!ByteBufUtil.equals(data, data.readerIndex(), ERROR, 0, ERROR.readableBytes())) {
                responses.requireOrigin(data, expected);
                reply.message(new ReplyMessage.Inference(
                        new InferMessage.RestMessage(new RestBody(data, RestBody.ALL_JSON))));
                return;
            }
            try {
                JsonNode error =
                        JSON.readTree(data.toString(StandardCharsets.UTF_8)).path("error");
                String text = error.isTextual() ? error.textValue() : error.toString();
                reply.message(new ReplyMessage.StreamError(OipException.ofServer(ErrorCode.UNKNOWN, text), ""));
            } catch (IOException e) {
                throw responses.failures().badResponse("sent an event that violates the protocol", e);
            } finally {
                data.release();
            }
        }

        /** An event without its final blank line is one as well. */
        @Override
        public void end() {
            part(Unpooled.wrappedBuffer(new byte[] {'\n', '\n'}));
        }

        @Override
        public void release() {
            parser.release();
        }

        /**
         * Extracts the data of events from a stream of server-sent events (WHATWG HTML, "Server-sent events"). Skips comments
         * and other fields.
         */
        static final class EventParser {
            private static final ByteBuf DATA =
                    Unpooled.unreleasableBuffer(Unpooled.wrappedBuffer(new byte[] {'d', 'a', 't', 'a'}));
            private static final int NAME = DATA.readableBytes();

            private final ByteBufAllocator allocator;
            private final long maxBytes;
            private final Runnable tooLarge;
            private @Nullable ByteBuf line;
            private @Nullable ByteBuf data;
            private boolean afterCr;
            private boolean released;

            /**
             * A parser at the start of a stream.
             *
             * @param maxBytes limit of one event
             * @param tooLarge called for a larger event; must throw
             */
            EventParser(ByteBufAllocator allocator, long maxBytes, Runnable tooLarge) {
                this.allocator = allocator;
                this.maxBytes = maxBytes;
                this.tooLarge = tooLarge;
            }

            /**
             * Parses the next bytes.
             *
             * @param part borrowed
             * @param events receives and owns the data of each complete event; it may release this parser
             */
            void feed(ByteBuf part, Consumer<ByteBuf> events) {
                int from = part.readerIndex();
                for (int at = from; at < part.writerIndex() && !released; at++) {
                    byte b = part.getByte(at);
                    if (b == '\n' || b == '\r') {
                        boolean secondOfCrLf = b == '\n' && afterCr && at == from && line == null;
                        afterCr = b == '\r';
                        if (!secondOfCrLf) {
                            keep(part, from, at);
                            endLine(events);
                        }
                        from = at + 1;
                    } else {
                        afterCr = false;
                    }
                }
                keep(part, from, part.writerIndex());
            }

            private void keep(ByteBuf part, int from, int to) {
                if (from == to || released) {
                    return;
                }
                ByteBuf open = line;
                if (open == null) {
                    open = allocator.buffer(to - from);
                    line = open;
                }
                int held = open.readableBytes() + (data == null ? 0 : data.readableBytes());
                if ((long) held + (to - from) > maxBytes) {
                    tooLarge.run();
                }
                open.writeBytes(part, from, to - from);
            }

            private void endLine(Consumer<ByteBuf> events) {
                ByteBuf ended = line;
                line = null;
                if (ended == null) {
                    ByteBuf event = data;
                    data = null;
                    if (event != null) {
                        events.accept(event);
                    }
                    return;
                }
                if (isData(ended)) {
                    ended.skipBytes(ended.readableBytes() > NAME ? NAME + 1 : NAME);
                    if (ended.isReadable() && ended.getByte(ended.readerIndex()) == ' ') {
                        ended.skipBytes(1);
                    }
                    ByteBuf open = data;
                    if (open == null) {
                        data = ended;
                        return;
                    }
                    open.writeByte('\n').writeBytes(ended);
                }
                ended.release();
            }

            private static boolean isData(ByteBuf line) {
                return ByteBufUtil.equals(line, line.readerIndex(), DATA, 0, NAME)
                        && (line.readableBytes() == NAME || line.getByte(line.readerIndex() + NAME) == ':');
            }

            /** Releases the incomplete event; later input is ignored. */
            void release() {
                released = true;
                if (line != null) {
                    line.release();
                    line = null;
                }
                if (data != null) {
                    data.release();
                    data = null;
                }
            }
        }
    }
}
