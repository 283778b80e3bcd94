package dev.isthmus.gateway.upstream.grpc;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageLite;
import dev.isthmus.gateway.call.Answer;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Cancellation;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.upstream.Endpoint;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.proto.ModelMetadataRequest;
import dev.isthmus.proto.ModelMetadataResponse;
import dev.isthmus.proto.ModelReadyRequest;
import dev.isthmus.proto.ModelReadyResponse;
import dev.isthmus.proto.ServerMetadataRequest;
import dev.isthmus.proto.ServerMetadataResponse;
import dev.isthmus.proto.ServerReadyRequest;
import dev.isthmus.proto.ServerReadyResponse;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.Wire;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.netty.NettyChannelBuilder;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** A server that speaks gRPC, over grpc-netty's client: one channel for each endpoint and event loop, no thread hop. */
public final class GrpcUpstream implements Upstream {
    private static final InboundMarshaller MARSHALLER = new InboundMarshaller();

    private final UpstreamSettings settings;
    private final Transport transport;
    private final Map<EventLoop, List<ManagedChannel>> channels = new ConcurrentHashMap<>();
    private final AtomicInteger turn = new AtomicInteger();

    public GrpcUpstream(UpstreamSettings settings, Transport transport) {
        this.settings = settings;
        this.transport = transport;
    }

    @Override
    public String name() {
        return settings.name();
    }

    @Override
    public Wire wire() {
        return Wire.PROTOBUF;
    }

    @Override
    public Cancellation infer(Call call, ModelRef model, InferMessage message, Reply reply) {
        ByteBuf request = ((InferMessage.Protobuf) message).message();
        return start(call, "ModelInfer", request, new UnaryCall(settings, reply) {
            @Override
            protected Answer answer(ByteBuf response) {
                return new Answer.Inference(new InferMessage.Protobuf(response));
            }
        });
    }

    @Override
    public Cancellation serverReady(Call call, Reply reply) {
        return start(call, "ServerReady", ServerReadyRequest.getDefaultInstance(), new Query(settings, reply) {
            @Override
            Answer parse(ByteBuf response) throws InvalidProtocolBufferException {
                return new Answer.Ready(
                        ServerReadyResponse.parseFrom(response.nioBuffer()).getReady());
            }
        });
    }

    @Override
    public Cancellation serverMetadata(Call call, Reply reply) {
        return start(call, "ServerMetadata", ServerMetadataRequest.getDefaultInstance(), new Query(settings, reply) {
            @Override
            Answer parse(ByteBuf response) throws InvalidProtocolBufferException {
                ServerMetadataResponse metadata = ServerMetadataResponse.parseFrom(response.nioBuffer());
                return new Answer.Server(new ServerMetadata(
                        metadata.getName(), metadata.getVersion(), List.copyOf(metadata.getExtensionsList())));
            }
        });
    }

    @Override
    public Cancellation modelReady(Call call, ModelRef model, Reply reply) {
        ModelReadyRequest request = ModelReadyRequest.newBuilder()
                .setName(model.name())
                .setVersion(model.version())
                .build();
        return start(call, "ModelReady", request, new Query(settings, reply) {
            @Override
            Answer parse(ByteBuf response) throws InvalidProtocolBufferException {
                return new Answer.ModelReady(
                        model,
                        ModelReadyResponse.parseFrom(response.nioBuffer()).getReady());
            }

            @Override
            protected void fail(OipException failure) {
                // What servers say of a model that they do not have: R2.
                switch (failure.code()) {
                    case NOT_FOUND, INVALID_ARGUMENT, UNKNOWN -> reply().only(new Answer.ModelReady(model, false));
                    default -> super.fail(failure);
                }
            }
        });
    }

    @Override
    public Cancellation modelMetadata(Call call, ModelRef model, Reply reply) {
        ModelMetadataRequest request = ModelMetadataRequest.newBuilder()
                .setName(model.name())
                .setVersion(model.version())
                .build();
        return start(call, "ModelMetadata", request, new Query(settings, reply) {
            @Override
            Answer parse(ByteBuf response) throws InvalidProtocolBufferException {
                return new Answer.Model(GrpcMetadata.model(ModelMetadataResponse.parseFrom(response.nioBuffer())));
            }
        });
    }

    private Cancellation start(Call call, String method, MessageLite request, UnaryCall listener) {
        return start(call, method, Unpooled.wrappedBuffer(request.toByteArray()), listener);
    }

    private Cancellation start(Call call, String method, ByteBuf request, UnaryCall listener) {
        Metadata headers = new Metadata();
        call.headers()
                .forEach((name, value) -> headers.put(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER), value));
        CallOptions options = CallOptions.DEFAULT.withDeadlineAfter(settings.nanosLeft(call), TimeUnit.NANOSECONDS);
        return listener.start(channel(call).newCall(method(method), options), headers, request);
    }

    private static MethodDescriptor<OutboundMessage, ByteBuf> method(String name) {
        return MethodDescriptor.newBuilder(OutboundMessage.MARSHALLER, MARSHALLER)
                .setType(MethodDescriptor.MethodType.UNARY)
                .setFullMethodName("inference.GRPCInferenceService/" + name)
                .build();
    }

    private ManagedChannel channel(Call call) {
        if (!(call.loop() instanceof EventLoop loop)) {
            throw new OipException(ErrorCode.INTERNAL, "a call lives on an event loop");
        }
        List<ManagedChannel> own = channels.computeIfAbsent(
                loop,
                any -> settings.endpoints().stream()
                        .map(endpoint -> open(endpoint, loop))
                        .toList());
        return own.get(Math.floorMod(turn.getAndIncrement(), own.size()));
    }

    private ManagedChannel open(Endpoint endpoint, EventLoop loop) {
        return NettyChannelBuilder.forAddress(new InetSocketAddress(endpoint.host(), endpoint.port()))
                .eventLoopGroup(loop)
                .channelType(transport.clientChannel(), InetSocketAddress.class)
                .withOption(
                        ChannelOption.CONNECT_TIMEOUT_MILLIS,
                        Math.toIntExact(settings.connectTimeout().toMillis()))
                .directExecutor()
                .offloadExecutor(Runnable::run)
                .usePlaintext()
                .disableRetry()
                .maxInboundMessageSize(settings.maxAnswerBytes())
                .keepAliveTime(5, TimeUnit.MINUTES)
                .build();
    }

    @Override
    public void close() {
        channels.values().forEach(own -> own.forEach(ManagedChannel::shutdownNow));
    }

    /** A call whose answer is a message of the protocol that is no inference. */
    private abstract static class Query extends UnaryCall {

        Query(UpstreamSettings settings, Reply reply) {
            super(settings, reply);
        }

        abstract Answer parse(ByteBuf response) throws InvalidProtocolBufferException;

        @Override
        protected Answer answer(ByteBuf response) {
            try {
                return parse(response);
            } catch (InvalidProtocolBufferException e) {
                throw new OipException(ErrorCode.BAD_UPSTREAM_ANSWER, "the upstream's answer is malformed protobuf", e);
            } finally {
                response.release();
            }
        }
    }
}
