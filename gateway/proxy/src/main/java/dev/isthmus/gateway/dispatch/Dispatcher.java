package dev.isthmus.gateway.dispatch;

import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.EnumDescriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.Descriptors.MethodDescriptor;
import com.google.protobuf.Descriptors.ServiceDescriptor;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Exchange;
import dev.isthmus.gateway.call.ForwardingReply;
import dev.isthmus.gateway.call.GatewayReadiness;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.call.Subscription;
import dev.isthmus.gateway.dispatch.GenericErrorTexts.ErrorEventPrefix;
import dev.isthmus.gateway.dispatch.ProxyStack.InferRules;
import dev.isthmus.gateway.routing.RequestAttributes;
import dev.isthmus.gateway.routing.Target;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.FailureCause;
import dev.isthmus.oip.OipException;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.health.HealthCheckRequest;
import dev.isthmus.proto.health.HealthCheckResponse;
import dev.isthmus.proto.health.HealthCheckResponse.ServingStatus;
import dev.isthmus.proto.reflection.v1.ErrorResponse;
import dev.isthmus.proto.reflection.v1.ExtensionNumberResponse;
import dev.isthmus.proto.reflection.v1.FileDescriptorResponse;
import dev.isthmus.proto.reflection.v1.ListServiceResponse;
import dev.isthmus.proto.reflection.v1.ServerReflectionRequest;
import dev.isthmus.proto.reflection.v1.ServerReflectionResponse;
import dev.isthmus.proto.reflection.v1.ServiceResponse;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.json.JsonCheck;
import dev.isthmus.transcoder.message.WireLimits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What is behind the layers: requests about the gateway itself are answered here, requests about the whole fleet are
 * passed to the fleet's service, and inferences to the targets of their route. Thread-safe; the flows that it creates
 * belong to one call.
 */
final class Dispatcher {
    /** A watch costs its client nothing, and lasts as long as that likes. */
    private static final int MAX_WATCHES = 10_000;

    private final Service fleet;
    private final InferRules rules;
    private final Transcoder transcoder;
    private final GatewayReadiness gateway;
    private final Semaphore watches = new Semaphore(MAX_WATCHES);

    /** @param fleet handles everything but inference: requests that concern the whole fleet, metadata, management */
    Dispatcher(Service fleet, InferRules rules, Transcoder transcoder, GatewayReadiness gateway) {
        this.fleet = fleet;
        this.rules = rules;
        this.transcoder = transcoder;
        this.gateway = gateway;
    }

    /**
     * Starts a call that all layers have let pass.
     *
     * @param exchange receives the reply
     * @return receives the request
     * @throws OipException if it cannot be done
     */
    RequestSink open(Exchange exchange) {
        Call call = exchange.call();
        return switch (call.operation()) {
            case Operation.CheckHealth check -> new HealthCheck(call, check, exchange);
            case Operation.Reflect request -> new ReflectionCall(exchange);
            case Operation.ServerLive live -> EmptyBodySink.replying(exchange, live());
            case Operation.GatewayReady request -> readiness(call, exchange);
            case Operation.ServerReady _,
                    Operation.ReadServerMetadata _,
                    Operation.ModelReady _,
                    Operation.ReadModelMetadata _,
                    Operation.DescribeApi _,
                    Operation.Validate _,
                    Operation.Manage _ -> fleet.open(call, exchange);
            case Operation.Infer infer -> IncomingRequest.of(exchange, infer, transcoder, rules);
            case Operation.InferStream request -> new StreamCallFlow(exchange, transcoder);
            case Operation.Generate generate -> GenerateCall.of(exchange, generate, rules.limits());
        };
    }

    /** A readiness operation, for gRPC's health service too. */
    private RequestSink readiness(Call call, Reply reply) {
        if (!(call.operation() instanceof Operation.GatewayReady)) {
            return fleet.open(call, reply);
        }
        String obstacle = gateway.obstacle();
        if (obstacle == null) {
            return EmptyBodySink.replying(reply, new ReplyMessage.Ready(true));
        }
        reply.fail(new OipException(ErrorCode.UNAVAILABLE, "the gateway is not ready: " + obstacle));
        return RequestSink.ENDED;
    }

    private ReplyMessage live() {
        String failure = gateway.failure();
        if (failure != null) {
            throw new OipException(ErrorCode.UNAVAILABLE, "the gateway has failed: " + failure);
        }
        return new ReplyMessage.Live(true);
    }

    /** A stream of gRPC's server reflection. Its messages are the same in v1 and v1alpha. */
    private static final class ReflectionCall implements RequestSink {
        private final Reply client;
        private boolean ended;

        ReflectionCall(Reply client) {
            this.client = client;
        }

        @Override
        public void data(ByteBuf message) {
            try {
                if (!ended) {
                    ServerReflectionRequest request = ServerReflectionRequest.parseFrom(message.nioBuffer());
                    byte[] response = ServiceDescriptors.response(request).toByteArray();
                    client.message(new ReplyMessage.Document(Unpooled.wrappedBuffer(response)));
                }
            } catch (InvalidProtocolBufferException e) {
                ended = true;
                client.fail(new OipException(ErrorCode.INVALID_ARGUMENT, "malformed protobuf message", e));
            } finally {
                message.release();
            }
        }

        @Override
        public boolean isReady() {
            return client.isReady();
        }

        @Override
        public void onReady() {
            client.onReady();
        }

        @Override
        public void end() {
            if (!ended) {
                ended = true;
                client.complete();
            }
        }

        @Override
        public void cancel() {
            ended = true;
        }
    }

    /** One request of the generate extension, which is passed through. */
    private static final class GenerateCall extends ForwardingReply {
        private final Exchange exchange;
        private final Operation.Generate generate;
        private final RoutedCall routed;
        private final ErrorEventPrefix errors = new ErrorEventPrefix();

        private GenerateCall(Exchange exchange, Operation.Generate generate) {
            super(exchange);
            this.exchange = exchange;
            this.routed = RoutedCall.of(exchange);
            this.generate = generate;
            // The time that the route gives it begins with its request.
            routed.call();
        }

        /** Creates the sink of a new call. */
        static RequestSink of(Exchange exchange, Operation.Generate generate, WireLimits limits) {
            GenerateCall flow = new GenerateCall(exchange, generate);
            return new PassThroughBody(exchange.call().allocator(), JsonCheck.passed(limits), exchange, flow::send);
        }

        /** @param body taken */
        private Subscription send(ByteBuf body) {
            Target target;
            try {
                target = routed.selectTarget(
                        new RequestAttributes(exchange.call().client(), Map.of(), ""), null);
            } catch (OipException unknown) {
                body.release();
                exchange.fail(unknown);
                return Subscription.NONE;
            }
            exchange.sending();
            Operation.Generate forTarget = new Operation.Generate(target.model(), generate.stream());
            return target.service().send(routed.call(), new UpstreamRequest.GenerateRequest(forTarget, body), this);
        }

        @Override
        public void message(ReplyMessage message) {
            if (message instanceof ReplyMessage.Events events
                    && events.content().forEachByte(errors) >= 0) {
                exchange.failsInResponse(new OipException(ErrorCode.UNKNOWN, "the server sent an error event"));
            }
            super.message(message);
        }
    }

    /** The gateway's gRPC services as server reflection describes them. */
    private static final class ServiceDescriptors {
        /** One message of each file that has a service. */
        private static final List<Descriptor> ROOTS = List.of(
                ModelInferRequest.getDescriptor(),
                HealthCheckRequest.getDescriptor(),
                ServerReflectionRequest.getDescriptor(),
                dev.isthmus.proto.reflection.v1alpha.ServerReflectionRequest.getDescriptor());

        private static final Map<String, FileDescriptor> FILES = new LinkedHashMap<>();
        private static final Map<String, FileDescriptor> SYMBOLS = new LinkedHashMap<>();
        private static final Set<String> SERVICES = new LinkedHashSet<>();

        static {
            ROOTS.forEach(root -> add(root.getFile()));
        }

        private ServiceDescriptors() {}

        private static void add(FileDescriptor file) {
            if (FILES.putIfAbsent(file.getFullName(), file) != null) {
                return;
            }
            file.getDependencies().forEach(ServiceDescriptors::add);
            for (ServiceDescriptor service : file.getServices()) {
                SERVICES.add(service.getFullName());
                SYMBOLS.put(service.getFullName(), file);
                for (MethodDescriptor method : service.getMethods()) {
                    SYMBOLS.put(method.getFullName(), file);
                }
            }
            file.getMessageTypes().forEach(ServiceDescriptors::add);
            file.getEnumTypes().forEach(ServiceDescriptors::add);
        }

        private static void add(Descriptor message) {
            SYMBOLS.put(message.getFullName(), message.getFile());
            message.getFields().forEach(field -> SYMBOLS.put(field.getFullName(), message.getFile()));
            message.getNestedTypes().forEach(ServiceDescriptors::add);
            message.getEnumTypes().forEach(ServiceDescriptors::add);
        }

        private static void add(EnumDescriptor type) {
            SYMBOLS.put(type.getFullName(), type.getFile());
        }

        /** The response to a request; never an exception, because the stream continues after an error. */
        static ServerReflectionResponse response(ServerReflectionRequest request) {
            ServerReflectionResponse.Builder response = ServerReflectionResponse.newBuilder()
                    .setValidHost(request.getHost())
                    .setOriginalRequest(request);
            return switch (request.getMessageRequestCase()) {
                case LIST_SERVICES ->
                    response.setListServicesResponse(services()).build();
                case FILE_BY_FILENAME ->
                    file(response, FILES.get(request.getFileByFilename()), request.getFileByFilename());
                case FILE_CONTAINING_SYMBOL ->
                    file(response, SYMBOLS.get(request.getFileContainingSymbol()), request.getFileContainingSymbol());
                case ALL_EXTENSION_NUMBERS_OF_TYPE -> extensions(response, request.getAllExtensionNumbersOfType());
                case FILE_CONTAINING_EXTENSION ->
                    error(response, ErrorCode.NOT_FOUND, "no service has extensions of messages");
                case MESSAGEREQUEST_NOT_SET ->
                    error(response, ErrorCode.INVALID_ARGUMENT, "message_request is expected");
            };
        }

        private static ListServiceResponse services() {
            ListServiceResponse.Builder list = ListServiceResponse.newBuilder();
            SERVICES.forEach(
                    name -> list.addService(ServiceResponse.newBuilder().setName(name)));
            return list.build();
        }

        private static ServerReflectionResponse file(
                ServerReflectionResponse.Builder response, @Nullable FileDescriptor file, String wanted) {
            if (file == null) {
                return error(response, ErrorCode.NOT_FOUND, "'" + wanted + "' is not known");
            }
            Set<FileDescriptor> all = new LinkedHashSet<>();
            withDependencies(file, all);
            FileDescriptorResponse.Builder files = FileDescriptorResponse.newBuilder();
            all.forEach(each -> files.addFileDescriptorProto(
                    ByteString.copyFrom(each.toProto().toByteArray())));
            return response.setFileDescriptorResponse(files).build();
        }

        private static void withDependencies(FileDescriptor file, Set<FileDescriptor> all) {
            if (all.add(file)) {
                file.getDependencies().forEach(each -> withDependencies(each, all));
            }
        }

        private static ServerReflectionResponse extensions(ServerReflectionResponse.Builder response, String type) {
            return SYMBOLS.containsKey(type)
                    ? response.setAllExtensionNumbersResponse(
                                    ExtensionNumberResponse.newBuilder().setBaseTypeName(type))
                            .build()
                    : error(response, ErrorCode.NOT_FOUND, "'" + type + "' is not known");
        }

        private static ServerReflectionResponse error(
                ServerReflectionResponse.Builder response, ErrorCode code, String message) {
            return response.setErrorResponse(ErrorResponse.newBuilder()
                            .setErrorCode(code.grpcStatus())
                            .setErrorMessage(message))
                    .build();
        }
    }

    /**
     * A call of gRPC's health service: translates a readiness operation to a HealthCheckResponse. Check responds once.
     * Watch responds now and at each change, until the client cancels it, its deadline expires, or the gateway shuts down.
     * It reads the readiness every second, which sends no requests to servers for models that are configured by name.
     */
    private final class HealthCheck implements RequestSink {
        private static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);

        private final Call call;
        private final Operation.CheckHealth request;
        private final Reply client;
        private @Nullable ServingStatus reported;
        private @Nullable Future<?> next;
        private boolean ended;

        HealthCheck(Call call, Operation.CheckHealth request, Reply client) {
            if (request.watch() && !watches.tryAcquire()) {
                throw new OipException(ErrorCode.UNAVAILABLE, "too many watches (limit " + MAX_WATCHES + ")")
                        .because(FailureCause.GATEWAY_LIMIT);
            }
            this.call = call;
            this.request = request;
            this.client = client;
        }

        @Override
        public void data(ByteBuf chunk) {
            chunk.release();
        }

        @Override
        public void cancel() {
            if (request.watch() && !ended) {
                watches.release();
            }
            ended = true;
            if (next != null) {
                next.cancel(false);
            }
        }

        /** Reads the state, for a watch again and again. */
        @Override
        public void end() {
            if (ended) {
                return;
            }
            Call internal = new Call(request.readiness(), Call.NO_DEADLINE, Map.of(), call.loop(), call.allocator());
            readiness(internal, new ReadinessReply()).end();
        }

        private void respond(ServingStatus status) {
            if (status != reported) {
                reported = status;
                client.message(new ReplyMessage.Document(Unpooled.wrappedBuffer(HealthCheckResponse.newBuilder()
                        .setStatus(status)
                        .build()
                        .toByteArray())));
            }
            if (!request.watch()) {
                ended = true;
                client.complete();
            } else if (gateway.ending()) {
                fail(new OipException(ErrorCode.UNAVAILABLE, "the gateway is shutting down")
                        .because(FailureCause.SHUTDOWN));
            } else {
                readAgain();
            }
        }

        private void readAgain() {
            long left = call.hasDeadline() ? call.deadlineNanos() - System.nanoTime() : Long.MAX_VALUE;
            if (left <= 0) {
                fail(new OipException(ErrorCode.DEADLINE_EXCEEDED, "the deadline of the call has expired"));
            } else {
                next = call.loop().schedule(this::end, Math.min(left, INTERVAL_NANOS), TimeUnit.NANOSECONDS);
            }
        }

        private void fail(OipException failure) {
            cancel();
            client.fail(failure);
        }

        /** Receives the state of what is checked. */
        private final class ReadinessReply implements Reply {
            private boolean ready;

            @Override
            public void message(ReplyMessage message) {
                ready = switch (message) {
                    case ReplyMessage.Ready state -> state.ready();
                    case ReplyMessage.ModelReadyState state -> state.ready();
                    default -> false;
                };
                message.release();
            }

            @Override
            public void complete() {
                if (!ended) {
                    respond(ready && !gateway.ending() ? ServingStatus.SERVING : ServingStatus.NOT_SERVING);
                }
            }

            @Override
            public void fail(OipException failure) {
                if (ended) {
                    return;
                }
                if (failure.code() != ErrorCode.NOT_FOUND) {
                    respond(ServingStatus.NOT_SERVING);
                } else if (request.watch()) {
                    respond(ServingStatus.SERVICE_UNKNOWN);
                } else {
                    HealthCheck.this.fail(failure);
                }
            }
        }
    }
}
