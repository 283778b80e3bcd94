package dev.isthmus.gateway.upstream.grpc;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.grpc.GrpcDeframer;
import dev.isthmus.gateway.http2.HeaderFieldList;
import dev.isthmus.gateway.upstream.ConnectionCounts;
import dev.isthmus.gateway.upstream.PerLoop;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.UnaryStream;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamFailures;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.gateway.upstream.UpstreamStream;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.ModelMetadataRequest;
import dev.isthmus.proto.ModelReadyRequest;
import dev.isthmus.proto.ModelReadyResponse;
import dev.isthmus.proto.ServerMetadataRequest;
import dev.isthmus.proto.ServerMetadataResponse;
import dev.isthmus.proto.ServerReadyRequest;
import dev.isthmus.proto.ServerReadyResponse;
import dev.isthmus.proto.metadata.RawModelMetadata;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.ServerFeatures;
import dev.isthmus.transcoder.message.Wire;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A server that speaks plaintext gRPC. Each event loop has its own connections, so that a call never leaves its loop.
 * An inference message names its model and version: the {@code model} argument is ignored. The reply may be called
 * before the method returns.
 */
public final class GrpcUpstream implements Upstream {
    private static final GrpcResponseReader INFERENCE = new InferenceReader();
    private static final GrpcResponseReader DOCUMENT = new ManagementReader();
    private static final GrpcResponseReader SERVER_READY = message ->
            new ReplyMessage.Ready(parse(ServerReadyResponse.parser(), message).getReady());
    private static final GrpcResponseReader MODEL_METADATA =
            message -> new ReplyMessage.Model(MetadataReader.model(parse(RawModelMetadata.parser(), message)));

    private final UpstreamSettings settings;
    private final UpstreamFailures failures;
    private final StatusText texts;
    private final GrpcMethods methods;
    private final ServerCapabilities capabilities;
    private final ConnectionCounts connections = new ConnectionCounts();
    private final PerLoop<GrpcConnectionPool> pools;

    /**
     * Opens no connection: the first call of each event loop does.
     *
     * @param capabilities shared with the other servers of the upstream
     * @param allocator of the connections' buffers
     */
    public GrpcUpstream(UpstreamSettings settings, ServerCapabilities capabilities, ByteBufAllocator allocator) {
        this(settings, capabilities, ConnectionRules.of(settings.timeout()), allocator);
    }

    GrpcUpstream(
            UpstreamSettings settings,
            ServerCapabilities capabilities,
            ConnectionRules rules,
            ByteBufAllocator allocator) {
        this.settings = settings;
        this.failures = new UpstreamFailures(settings.name(), settings.ending());
        this.texts = new StatusText(failures, settings.maxMessageBytes());
        this.methods =
                GrpcMethods.of(settings.tls() == null ? "http" : "https", settings.authority(), settings.timeout());
        this.capabilities = capabilities;
        this.pools = new PerLoop<>(
                loop -> GrpcConnectionPool.open(settings, texts, rules, connections, loop, allocator),
                GrpcConnectionPool::close,
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
        return capabilities.peer(Wire.PROTOBUF);
    }

    @Override
    public Subscription send(Call call, UpstreamRequest request, Reply reply) {
        return switch (request) {
            case UpstreamRequest.InferenceRequest infer -> infer(call, infer, reply);
            case UpstreamRequest.InferenceInParts parts -> infer(call, parts, reply);
            case UpstreamRequest.ManageRequest manage ->
                send(
                        call,
                        methods.extension(manage.operation().extension()),
                        named(manage.operation(), manage.body()),
                        DOCUMENT,
                        reply);
            case UpstreamRequest.ServerReadyRequest _ ->
                send(call, methods.serverReady(), ServerReadyRequest.getDefaultInstance(), SERVER_READY, reply);
            case UpstreamRequest.ServerMetadataRequest _ ->
                send(
                        call,
                        methods.serverMetadata(),
                        ServerMetadataRequest.getDefaultInstance(),
                        this::serverMetadata,
                        reply);
            case UpstreamRequest.ModelReadyRequest ready -> modelReady(call, ready.model(), reply);
            case UpstreamRequest.ModelMetadataRequest metadata -> modelMetadata(call, metadata.model(), reply);
            case UpstreamRequest.GenerateRequest generate ->
                unsupported(generate, "is not called over REST, which the generate extension requires", reply);
            case UpstreamRequest.ModelNamesRequest names ->
                unsupported(names, "does not support listing its models", reply);
        };
    }

    private Subscription infer(Call call, UpstreamRequest.InferenceRequest infer, Reply reply) {
        if (infer.events() && capabilities.dialect().streams()) {
            UpstreamStream stream = inferStream(call, infer.model(), reply);
            stream.send(infer.model(), "", false, infer.message());
            stream.end();
            return stream;
        }
        if (!(infer.message() instanceof InferMessage.ProtobufMessage protobuf)) {
            infer.release();
            reply.fail(failures.failure(
                    ErrorCode.INTERNAL,
                    "expects PROTOBUF, got " + infer.message().wire(),
                    null));
            return Subscription.NONE;
        }
        return send(call, methods.modelInfer(), protobuf.message(), INFERENCE, reply);
    }

    private Subscription infer(Call call, UpstreamRequest.InferenceInParts parts, Reply reply) {
        UnaryCall unary = open(call, methods.modelInfer(), null, INFERENCE, reply);
        if (unary == null) {
            return Subscription.NONE;
        }
        parts.open(unary.parts(parts.length()));
        unary.start();
        return unary;
    }

    private record InferenceReader() implements GrpcResponseReader {
        @Override
        public ReplyMessage read(ByteBuf message) {
            return new ReplyMessage.Inference(new InferMessage.ProtobufMessage(message));
        }

        @Override
        public boolean passesParts() {
            return true;
        }

        @Override
        public long maxBytes(UpstreamSettings settings) {
            return settings.maxMessageBytes();
        }
    }

    private record ManagementReader() implements GrpcResponseReader {
        @Override
        public ReplyMessage read(ByteBuf message) {
            return new ReplyMessage.Document(message);
        }

        @Override
        public long maxBytes(UpstreamSettings settings) {
            return settings.maxDocumentBytes();
        }
    }

    @Override
    public long passesFrom() {
        return GrpcDeframer.LARGE;
    }

    @Override
    public UpstreamStream inferStream(Call call, ModelRef model, Reply reply) {
        if (!capabilities.dialect().streams()) {
            return new UnaryStream(this, call, reply);
        }
        try {
            CallTimeout timeout = new CallTimeout(settings.nanosLeftOfStream(call), false);
            HeaderFieldList head = head(call, methods.modelStreamInfer().plain());
            StreamCall stream = new StreamCall(pool(call), head, timeout, capabilities.dialect(), reply);
            stream.start();
            return stream;
        } catch (OipException e) {
            reply.fail(e);
            return UpstreamStream.ENDED;
        }
    }

    /** With the names in the fields in which the server expects them. The body is taken. */
    private ByteBuf named(Operation.Manage manage, ByteBuf body) {
        boolean modelFirst =
                capabilities.dialect().modelIsFirst() && manage.extension().changesRepository();
        if (!modelFirst && !manage.modelFirst()) {
            return body;
        }
        String first = modelFirst ? manage.model().name() : manage.resource();
        ByteBuf named = manage.extension().renamed(body, manage.model(), first);
        body.release();
        return named;
    }

    private ReplyMessage serverMetadata(ByteBuf message) throws InvalidProtocolBufferException {
        var metadata = MetadataReader.server(parse(ServerMetadataResponse.parser(), message));
        capabilities.learn(metadata);
        return new ReplyMessage.Server(metadata);
    }

    private Subscription modelReady(Call call, ModelRef model, Reply reply) {
        var request = ModelReadyRequest.newBuilder()
                .setName(model.name())
                .setVersion(model.version())
                .build();
        return send(call, methods.modelReady(), request, new ModelReadyReader(model), reply);
    }

    private Subscription modelMetadata(Call call, ModelRef model, Reply reply) {
        var request = ModelMetadataRequest.newBuilder()
                .setName(model.name())
                .setVersion(model.version())
                .build();
        return send(call, methods.modelMetadata(), request, MODEL_METADATA, reply);
    }

    /** Servers disagree about an unknown model: Triton answers "not ready", KServe NOT_FOUND, MLServer UNKNOWN. */
    private record ModelReadyReader(ModelRef model) implements GrpcResponseReader {
        @Override
        public ReplyMessage read(ByteBuf message) throws InvalidProtocolBufferException {
            return new ReplyMessage.ModelReadyState(
                    model, parse(ModelReadyResponse.parser(), message).getReady());
        }

        @Override
        public @Nullable ReplyMessage instead(ErrorCode serverFailure) {
            return serverFailure == ErrorCode.NOT_FOUND
                            || serverFailure == ErrorCode.UNKNOWN
                            || serverFailure == ErrorCode.INVALID_ARGUMENT
                    ? new ReplyMessage.ModelReadyState(model, false)
                    : null;
        }
    }

    /** Parses a small message and releases it; copies it unless it is contiguous. */
    private static <T> T parse(Parser<T> parser, ByteBuf message) throws InvalidProtocolBufferException {
        T parsed = parser.parseFrom(message.nioBuffer());
        message.release();
        return parsed;
    }

    private Subscription send(
            Call call, GrpcMethods.MethodHead method, MessageLite request, GrpcResponseReader reader, Reply reply) {
        return send(call, method, Unpooled.wrappedBuffer(request.toByteArray()), reader, reply);
    }

    /** Sends a unary request. The message is taken. */
    private Subscription send(
            Call call, GrpcMethods.MethodHead method, ByteBuf message, GrpcResponseReader reader, Reply reply) {
        UnaryCall unary = open(call, method, message, reader, reply);
        if (unary == null) {
            message.release();
            return Subscription.NONE;
        }
        unary.start();
        return unary;
    }

    /** A call that has not started. The message is taken; null if it has failed. */
    private @Nullable UnaryCall open(
            Call call,
            GrpcMethods.MethodHead method,
            @Nullable ByteBuf message,
            GrpcResponseReader reader,
            Reply reply) {
        boolean ownDeadline = call.hasDeadline();
        try {
            HeaderFieldList head = head(call, ownDeadline ? method.plain() : method.timed());
            GrpcConnectionPool pool = pool(call);
            CallTimeout timeout = new CallTimeout(settings.nanosLeft(call), !ownDeadline);
            return new UnaryCall(pool, head, timeout, message, reader, call.memory(), reply);
        } catch (OipException e) {
            reply.fail(e);
            return null;
        }
    }

    private GrpcConnectionPool pool(Call call) {
        return pools.of(call.loop());
    }

    private static HeaderFieldList head(Call call, HeaderFieldList method) {
        try {
            return CallMetadata.of(method, call.headers());
        } catch (IllegalArgumentException e) {
            throw new OipException(ErrorCode.INVALID_ARGUMENT, "a header cannot be sent as gRPC metadata", e);
        }
    }

    @Override
    public void close() {
        pools.close();
    }
}
