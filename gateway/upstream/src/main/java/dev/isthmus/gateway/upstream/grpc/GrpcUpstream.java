package dev.isthmus.gateway.upstream.grpc;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.OperationKind;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.http2.HeaderFieldList;
import dev.isthmus.gateway.settings.SecretText;
import dev.isthmus.gateway.upstream.RemoteServer;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.TimeoutQueue.CallTimeout;
import dev.isthmus.gateway.upstream.UnaryStream;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.gateway.upstream.UpstreamStream;
import dev.isthmus.gateway.upstream.grpc.CallMetadata.GrpcMethods;
import dev.isthmus.gateway.upstream.grpc.GrpcConnectionPool.ConnectionRules;
import dev.isthmus.gateway.upstream.grpc.GrpcConnectionPool.StatusText;
import dev.isthmus.gateway.upstream.grpc.UnaryCall.GrpcResponseReader;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.Parameter;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.oip.Shape;
import dev.isthmus.proto.InferParameter;
import dev.isthmus.proto.ModelMetadataRequest;
import dev.isthmus.proto.ModelMetadataResponse;
import dev.isthmus.proto.ModelReadyRequest;
import dev.isthmus.proto.ModelReadyResponse;
import dev.isthmus.proto.ServerMetadataRequest;
import dev.isthmus.proto.ServerMetadataResponse;
import dev.isthmus.proto.ServerReadyRequest;
import dev.isthmus.proto.ServerReadyResponse;
import dev.isthmus.proto.metadata.RawModelMetadata;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.message.ExpectedOrigin;
import dev.isthmus.transcoder.message.Wire;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A server that speaks gRPC. An inference message names its model and version: the {@code model} argument is ignored.
 */
public final class GrpcUpstream extends RemoteServer<GrpcConnectionPool> {
    private static final GrpcResponseReader INFERENCE =
            message -> new ReplyMessage.Inference(new InferMessage.ProtobufMessage(message));
    private static final GrpcResponseReader DOCUMENT = ReplyMessage.Document::new;
    private static final GrpcResponseReader SERVER_READY =
            message -> parsed(ServerReadyResponse.parser(), message, said -> new ReplyMessage.Ready(said.getReady()));
    private static final GrpcResponseReader MODEL_METADATA = message ->
            parsed(RawModelMetadata.parser(), message, said -> new ReplyMessage.Model(MetadataReader.model(said)));

    private final StatusText texts;
    private final ConnectionRules rules;
    private volatile GrpcMethods methods;

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
        super(Wire.PROTOBUF, settings, capabilities, allocator);
        this.texts = new StatusText(failures(), settings.maxMessageBytes());
        this.methods = new GrpcMethods(settings, Map.of());
        this.rules = rules;
    }

    @Override
    protected GrpcConnectionPool createPool(EventLoop loop) {
        return new GrpcConnectionPool(this, loop);
    }

    StatusText texts() {
        return texts;
    }

    ConnectionRules rules() {
        return rules;
    }

    @Override
    public void ownHeaders(Map<String, SecretText> headers) {
        methods = new GrpcMethods(settings(), headers);
    }

    @Override
    public Subscription send(Call call, UpstreamRequest request, Reply reply) {
        if (request instanceof UpstreamRequest.InferenceRequest infer
                && infer.events()
                && capabilities().dialect().streams()) {
            UpstreamStream stream = inferStream(call, infer.model(), reply);
            try {
                stream.send(call, infer, false);
            } catch (RuntimeException | OutOfMemoryError fault) {
                // Nobody else has it.
                stream.cancel();
                throw fault;
            }
            stream.end();
            return stream;
        }
        UnaryCall unary;
        try {
            unary = unary(call, request, reply);
        } catch (OipException e) {
            return Upstream.refuse(request, e, reply);
        }
        unary.start();
        return unary;
    }

    /**
     * Sends a message to a method of another service than the protocol's.
     *
     * @param path of the method: "/package.Service/Method"
     * @param message taken
     * @param reply receives one {@code ReplyMessage.Document}
     */
    public Subscription send(Call call, String path, ByteBuf message, Reply reply) {
        try {
            UnaryCall unary = open(call, methods.of(path), DOCUMENT, settings().maxDocumentBytes(), reply)
                    .sending(message);
            unary.start();
            return unary;
        } catch (OipException e) {
            message.release();
            reply.fail(e);
            return Subscription.NONE;
        }
    }

    /** A call that has not started. The request is taken, unless this throws. */
    private UnaryCall unary(Call call, UpstreamRequest request, Reply reply) {
        return switch (request) {
            case UpstreamRequest.InferenceRequest infer ->
                inference(call, infer.model(), infer.id(), reply).sending(protobuf(infer.message()));
            case UpstreamRequest.InferenceInParts parts -> {
                UnaryCall unary = inference(call, parts.model(), parts.id(), reply);
                parts.open(unary.parts(parts.length()));
                yield unary;
            }
            case UpstreamRequest.ManageRequest(Operation.Manage manage, ByteBuf body) ->
                open(
                                call,
                                methods.of(manage.extension().grpcMethod()),
                                DOCUMENT,
                                settings().maxDocumentBytes(),
                                reply)
                        .sending(named(manage, body));
            case UpstreamRequest.ServerReadyRequest _ ->
                metadata(call, OperationKind.SERVER_READY, SERVER_READY, reply)
                        .sending(encoded(ServerReadyRequest.getDefaultInstance()));
            case UpstreamRequest.ServerMetadataRequest _ ->
                metadata(call, OperationKind.SERVER_METADATA, this::serverMetadata, reply)
                        .sending(encoded(ServerMetadataRequest.getDefaultInstance()));
            case UpstreamRequest.ModelReadyRequest(ModelRef model) ->
                metadata(call, OperationKind.MODEL_READY, new ModelReadyReader(model), reply)
                        .sending(encoded(ModelReadyRequest.newBuilder()
                                .setName(model.name())
                                .setVersion(model.version())
                                .build()));
            case UpstreamRequest.ModelMetadataRequest(ModelRef model) ->
                metadata(call, OperationKind.MODEL_METADATA, MODEL_METADATA, reply)
                        .sending(encoded(ModelMetadataRequest.newBuilder()
                                .setName(model.name())
                                .setVersion(model.version())
                                .build()));
            case UpstreamRequest.GenerateRequest _ ->
                throw unsupported("is not called over REST, which the generate extension requires");
            case UpstreamRequest.ModelNamesRequest _ -> throw unsupported("does not support listing its models");
        };
    }

    private ByteBuf protobuf(InferMessage message) {
        if (message instanceof InferMessage.ProtobufMessage protobuf) {
            return protobuf.message();
        }
        throw new OipException(ErrorCode.INTERNAL, "PROTOBUF is expected, got " + message.wire());
    }

    private static ByteBuf encoded(MessageLite message) {
        return Unpooled.wrappedBuffer(message.toByteArray());
    }

    private UnaryCall inference(Call call, ModelRef model, String id, Reply reply) {
        return open(call, methods.modelInfer, INFERENCE, settings().maxMessageBytes(), reply)
                .expecting(ExpectedOrigin.of(capabilities().dialect(), model.name(), id));
    }

    @Override
    public UpstreamStream inferStream(Call call, ModelRef model, Reply reply) {
        if (!capabilities().dialect().streams()) {
            return new UnaryStream(this, call, reply);
        }
        try {
            CallTimeout timeout = new CallTimeout(settings().nanosLeftOfStream(call), false);
            HeaderFieldList head = CallMetadata.of(
                    methods.of(OperationKind.INFER_STREAM.grpcMethod()).plain(), call);
            StreamCall stream = new StreamCall(
                    pool(call.loop()), head, timeout, capabilities().dialect(), reply);
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
                capabilities().dialect().modelIsFirst() && manage.extension().changesRepository();
        if (!modelFirst && !manage.modelFirst()) {
            return body;
        }
        String first = modelFirst ? manage.model().name() : manage.resource();
        ByteBuf named = manage.extension().renamed(body, manage.model(), first);
        body.release();
        return named;
    }

    private ReplyMessage serverMetadata(ByteBuf message) throws InvalidProtocolBufferException {
        return parsed(ServerMetadataResponse.parser(), message, said -> {
            var metadata = MetadataReader.server(said);
            capabilities().learn(metadata);
            return new ReplyMessage.Server(metadata);
        });
    }

    /** Servers disagree about an unknown model: Triton answers "not ready", KServe NOT_FOUND, MLServer UNKNOWN. */
    private record ModelReadyReader(ModelRef model) implements GrpcResponseReader {
        @Override
        public ReplyMessage read(ByteBuf message) throws InvalidProtocolBufferException {
            return parsed(
                    ModelReadyResponse.parser(),
                    message,
                    said -> new ReplyMessage.ModelReadyState(model, said.getReady()));
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

    /** Reads a small message (taken, unless this throws); copies it unless it is contiguous. */
    private static <T> ReplyMessage parsed(Parser<T> parser, ByteBuf message, Function<T, ReplyMessage> read)
            throws InvalidProtocolBufferException {
        ReplyMessage response = read.apply(parser.parseFrom(message.nioBuffer()));
        message.release();
        return response;
    }

    private UnaryCall metadata(Call call, OperationKind kind, GrpcResponseReader reader, Reply reply) {
        return open(call, methods.of(kind.grpcMethod()), reader, settings().maxMetadataBytes(), reply);
    }

    private UnaryCall open(
            Call call, GrpcMethods.MethodHead method, GrpcResponseReader reader, long maxBytes, Reply reply) {
        boolean ownDeadline = call.hasDeadline();
        HeaderFieldList head = CallMetadata.of(ownDeadline ? method.plain() : method.timed(), call);
        CallTimeout timeout = new CallTimeout(settings().nanosLeft(call), !ownDeadline);
        return new UnaryCall(pool(call.loop()), head, timeout, reader, maxBytes, call.memory(), reply);
    }

    private static final class MetadataReader {

        private MetadataReader() {}

        static ServerMetadata server(ServerMetadataResponse message) {
            return new ServerMetadata(message.getName(), message.getVersion(), message.getExtensionsList());
        }

        static ModelMetadata model(RawModelMetadata message) {
            Map<String, ByteString> extension = message.getExtensionMap();
            Map<String, InferParameter> parameters = asParameters(extension);
            return new ModelMetadata(
                    message.getName(),
                    message.getVersionsList(),
                    message.getPlatform(),
                    tensors(message.getInputsList()),
                    tensors(message.getOutputsList()),
                    parameters(parameters),
                    parameters.isEmpty() ? asProperties(extension) : Map.of());
        }

        /** MLServer's parameters; empty if any value is not one, and so all are the protocol's properties. */
        private static Map<String, InferParameter> asParameters(Map<String, ByteString> extension) {
            Map<String, InferParameter> parameters = new LinkedHashMap<>();
            boolean valued = false;
            for (Map.Entry<String, ByteString> each : extension.entrySet()) {
                try {
                    InferParameter parameter = InferParameter.parseFrom(each.getValue());
                    if (!parameter.getUnknownFields().asMap().isEmpty()) {
                        return Map.of();
                    }
                    valued |= parameter.getParameterChoiceCase()
                            != InferParameter.ParameterChoiceCase.PARAMETERCHOICE_NOT_SET;
                    parameters.put(each.getKey(), parameter);
                } catch (InvalidProtocolBufferException e) {
                    return Map.of();
                }
            }
            // Empty texts are parameters without a value, too.
            return valued ? parameters : Map.of();
        }

        /** Leaves out a value that is no text. */
        private static Map<String, String> asProperties(Map<String, ByteString> extension) {
            Map<String, String> properties = new LinkedHashMap<>();
            extension.forEach((name, value) -> {
                if (value.isValidUtf8()) {
                    properties.put(name, value.toStringUtf8());
                }
            });
            return properties;
        }

        private static List<ModelMetadata.TensorMetadata> tensors(List<ModelMetadataResponse.TensorMetadata> messages) {
            return messages.stream().map(MetadataReader::tensor).toList();
        }

        private static ModelMetadata.TensorMetadata tensor(ModelMetadataResponse.TensorMetadata message) {
            Shape shape = Shape.of(message.getShapeList());
            return new ModelMetadata.TensorMetadata(
                    message.getName(), message.getDatatype(), shape, parameters(message.getParametersMap()));
        }

        private static Map<String, Parameter> parameters(Map<String, InferParameter> messages) {
            Map<String, Parameter> parameters = new LinkedHashMap<>();
            messages.forEach((name, message) -> putParameter(parameters, name, message));
            return parameters;
        }

        /** Leaves out a parameter without a value: its type is unknown to us. */
        private static void putParameter(Map<String, Parameter> parameters, String name, InferParameter message) {
            switch (message.getParameterChoiceCase()) {
                case BOOL_PARAM -> parameters.put(name, new Parameter.Bool(message.getBoolParam()));
                case INT64_PARAM -> parameters.put(name, new Parameter.Int64(message.getInt64Param()));
                case STRING_PARAM -> parameters.put(name, new Parameter.Text(message.getStringParam()));
                case DOUBLE_PARAM -> parameters.put(name, new Parameter.Float64(message.getDoubleParam()));
                case UINT64_PARAM -> parameters.put(name, unsigned(message.getUint64Param()));
                case PARAMETERCHOICE_NOT_SET -> {}
            }
        }

        private static Parameter unsigned(long bits) {
            return bits < 0 ? new Parameter.Uint64(bits) : new Parameter.Int64(bits);
        }
    }
}
