package dev.isthmus.gateway.upstream.grpc;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.grpc.GrpcDeframer;
import dev.isthmus.gateway.http2.HeaderFieldList;
import dev.isthmus.gateway.upstream.ConnectionCounts;
import dev.isthmus.gateway.upstream.PerLoop;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.UnaryStream;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamFailures;
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
    public Subscription infer(Call call, ModelRef model, InferMessage message, Reply reply) {
        if (!(message instanceof InferMessage.ProtobufMessage protobuf)) {
            message.release();
            reply.fail(failures.failure(ErrorCode.INTERNAL, "expects PROTOBUF, got " + message.wire(), null));
            return Subscription.NONE;
        }
        return send(call, methods.modelInfer(), protobuf.message(), INFERENCE, reply);
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
    public RequestSink inferParts(Call call, ModelRef model, long length, Reply reply) {
        UnaryCall unary = open(call, methods.modelInfer(), null, INFERENCE, reply);
        if (unary == null) {
            return RequestSink.ENDED;
        }
        unary.start();
        return unary.parts(length);
    }

    @Override
    public Subscription inferEvents(Call call, ModelRef model, InferMessage message, Reply reply) {
        if (!capabilities.dialect().streams()) {
            return infer(call, model, message, reply);
        }
        UpstreamStream stream = inferStream(call, model, reply);
        stream.send(model, "", false, message);
        stream.end();
        return stream;
    }

    @Override
    public UpstreamStream inferStream(Call call, ModelRef model, Reply reply) {
        if (!capabilities.dialect().streams()) {
            return new UnaryStream(this, call, reply);
        }
        try {
            GrpcCall.CallTimeout timeout = new GrpcCall.CallTimeout(settings.nanosLeftOfStream(call), false);
            HeaderFieldList head = head(call, methods.modelStreamInfer().plain());
            StreamCall stream = new StreamCall(
                    pool(call), head, timeout, capabilities.dialect(), settings.returnedHeaders(), reply);
            stream.start();
            return stream;
        } catch (OipException e) {
            reply.fail(e);
            return UpstreamStream.ENDED;
        }
    }

    @Override
    public Subscription manage(Call call, Operation.Manage manage, ByteBuf body, Reply reply) {
        return send(call, methods.extension(manage.extension()), named(manage, body), DOCUMENT, reply);
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

    @Override
    public Subscription serverReady(Call call, Reply reply) {
        GrpcResponseReader reader = message -> new ReplyMessage.Ready(
                parse(ServerReadyResponse.parser(), message).getReady());
        return send(call, methods.serverReady(), ServerReadyRequest.getDefaultInstance(), reader, reply);
    }

    @Override
    public Subscription serverMetadata(Call call, Reply reply) {
        GrpcResponseReader reader = message -> {
            var metadata = MetadataReader.server(parse(ServerMetadataResponse.parser(), message));
            capabilities.learn(metadata);
            return new ReplyMessage.Server(metadata);
        };
        return send(call, methods.serverMetadata(), ServerMetadataRequest.getDefaultInstance(), reader, reply);
    }

    @Override
    public Subscription modelReady(Call call, ModelRef model, Reply reply) {
        var request = ModelReadyRequest.newBuilder()
                .setName(model.name())
                .setVersion(model.version())
                .build();
        return send(call, methods.modelReady(), request, new ModelReadyReader(model), reply);
    }

    @Override
    public Subscription modelMetadata(Call call, ModelRef model, Reply reply) {
        GrpcResponseReader reader =
                message -> new ReplyMessage.Model(MetadataReader.model(parse(RawModelMetadata.parser(), message)));
        var request = ModelMetadataRequest.newBuilder()
                .setName(model.name())
                .setVersion(model.version())
                .build();
        return send(call, methods.modelMetadata(), request, reader, reply);
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
            GrpcCall.CallTimeout timeout = new GrpcCall.CallTimeout(settings.nanosLeft(call), !ownDeadline);
            return new UnaryCall(pool, head, timeout, message, reader, settings, call.memory(), reply);
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
