package dev.isthmus.gateway.replay;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.call.Operation.BodyForm;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.call.ReplyMessage;
import dev.isthmus.gateway.http2.AbusePolicy;
import dev.isthmus.gateway.net.ConnectionTable;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.settings.HeaderAllowList;
import dev.isthmus.gateway.settings.UpstreamTls;
import dev.isthmus.gateway.tls.ClientTls;
import dev.isthmus.gateway.tls.TlsRegistry;
import dev.isthmus.gateway.upstream.ServerCapabilities;
import dev.isthmus.gateway.upstream.Upstream;
import dev.isthmus.gateway.upstream.UpstreamRequest;
import dev.isthmus.gateway.upstream.UpstreamSettings;
import dev.isthmus.gateway.upstream.grpc.GrpcUpstream;
import dev.isthmus.gateway.upstream.rest.RestUpstream;
import dev.isthmus.gateway.upstream.rest.RestUpstream.PoolLimits;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.InferRequest;
import dev.isthmus.oip.InferResponse;
import dev.isthmus.oip.ModelMetadata;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.oip.OipException;
import dev.isthmus.transcoder.InferMessage;
import dev.isthmus.transcoder.ResponseForm;
import dev.isthmus.transcoder.Transcoder;
import dev.isthmus.transcoder.message.WireLimits;
import dev.isthmus.transcoder.rest.RestBody;
import dev.isthmus.transcoder.rest.RestRequest;
import dev.isthmus.transcoder.rest.RestRequestReader;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import java.net.InetAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Sends requests to one server, over REST or gRPC, and waits for the responses. Thread-safe. */
public final class ReplayClient implements AutoCloseable {
    private static final String NAME = "replay";
    private static final Duration TIMEOUT = Duration.ofMinutes(1);
    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(10);
    private static final ByteBufAllocator ALLOCATOR = ByteBufAllocator.DEFAULT;

    private final ServerConnection connection;
    private final Semaphore permits;
    private final Transcoder transcoder = new Transcoder(RecordedEvent.LIMITS);
    private final EventLoopGroup loops;
    private final ServerCapabilities capabilities;
    private final @Nullable ClientTls tls;
    private final Upstream upstream;
    /** What one of the exchanges has thrown. */
    private volatile @Nullable Throwable fault;

    /**
     * Connects when it is used.
     *
     * @param serverName that the server's certificate must have; null for the host of the URL
     * @throws UnknownHostException if the host of the URL has no address
     */
    public ReplayClient(ServerConnection connection, @Nullable String serverName) throws UnknownHostException {
        this.connection = connection;
        this.permits = new Semaphore(connection.concurrency());
        URI to = connection.to();
        boolean secure = "https".equals(to.getScheme());
        int port = to.getPort() >= 0 ? to.getPort() : secure ? 443 : 80;
        String authority = new Endpoint(to.getHost().replaceAll("[\\[\\]]", ""), port).authority();
        Endpoint address = new Endpoint(InetAddress.getByName(to.getHost()).getHostAddress(), port);
        tls = secure
                ? new TlsRegistry(new SimpleMeterRegistry())
                        .client(NAME, new UpstreamTls(connection.ca(), serverName, null, null))
                : null;
        capabilities = new ServerCapabilities(ServerDialect.AUTO, connection.binary(), false);
        UpstreamSettings server = new UpstreamSettings(
                NAME,
                address,
                authority,
                "",
                tls == null ? null : tls.to(authority),
                TIMEOUT,
                CONNECT_TIMEOUT,
                Integer.MAX_VALUE,
                Integer.MAX_VALUE,
                HeaderAllowList.of(List.of()),
                AbusePolicy.NONE,
                new ConnectionTable(),
                () -> false);
        PoolLimits limits = new PoolLimits(connection.concurrency(), connection.concurrency(), Duration.ofMinutes(1));
        // Last, as it has open files.
        loops = new MultiThreadIoEventLoopGroup(1, Transport.best().ioHandlerFactory());
        upstream = connection.grpc()
                ? new GrpcUpstream(server, capabilities, ALLOCATOR)
                : new RestUpstream(server, capabilities, limits, ALLOCATOR);
    }

    /**
     * Reads the server's metadata, on which the form of requests depends.
     *
     * @throws OipException if the server does not respond
     */
    void connect() throws InterruptedException {
        try {
            // The upstream learns from it.
            ask(new Operation.ReadServerMetadata(), new UpstreamRequest.ServerMetadataRequest());
            if (capabilities.isUnrecognized()) {
                metadata(ServerCapabilities.UNKNOWN_MODEL);
            }
        } catch (OipException failure) {
            if (failure.code() == ErrorCode.UNAVAILABLE || failure.code() == ErrorCode.DEADLINE_EXCEEDED) {
                throw failure;
            }
            capabilities.learn(failure);
            // A server without metadata gets requests as the protocol documents have them.
        }
    }

    /** @throws OipException if the server has none, or does not respond */
    ModelMetadata metadata(ModelRef model) throws InterruptedException {
        Operation operation = new Operation.ReadModelMetadata(model);
        return ((ReplyMessage.Model) ask(operation, new UpstreamRequest.ModelMetadataRequest(model))).metadata();
    }

    /** Runs something in a virtual thread, as soon as fewer run than requests at a time are allowed. */
    void start(Runnable exchange) throws InterruptedException {
        permits.acquire();
        Thread.ofVirtual().start(() -> {
            try {
                exchange.run();
            } catch (RuntimeException | Error thrown) {
                fault = thrown;
            } finally {
                permits.release();
            }
        });
    }

    /** Waits for all that was started. Throws an IllegalStateException if one of them has thrown something. */
    void await() throws InterruptedException {
        permits.acquire(connection.concurrency());
        if (fault != null) {
            throw new IllegalStateException(fault);
        }
    }

    /**
     * Sends a request (taken) and returns the response, owned by the caller.
     *
     * @throws OipException if the call fails
     */
    public InferResponse infer(RestRequest request, ModelRef model) throws InterruptedException {
        InferRequest renamed =
                request.retained(ALLOCATOR, upstream.peer().dialect()).withModel(model);
        request.request().release();
        InferMessage message = transcoder.request(
                ALLOCATOR, new InferMessage.DecodedRequest(renamed, request.plainInputs()), upstream.peer());
        Operation operation = new Operation.Infer(model, new BodyForm.RestForm(RestBody.ALL_JSON, -1, null), false);
        var reply = (ReplyMessage.Inference) ask(operation, new UpstreamRequest.InferenceRequest(model, message));
        InferMessage decoded = transcoder.response(ALLOCATOR, reply.message(), ResponseForm.DECODED);
        return ((InferMessage.Response) decoded).response();
    }

    /**
     * The decoded request with this body (borrowed), owned by the caller.
     *
     * @param jsonLength as in {@link RestBody#jsonLength()}
     * @throws OipException if it is not valid
     */
    public static RestRequest decoded(ModelRef model, ByteBuf body, long jsonLength, WireLimits limits) {
        RestRequestReader reader = new RestRequestReader(ALLOCATOR, model, jsonLength, true, limits);
        try {
            reader.feed(body);
            return reader.finish();
        } finally {
            reader.release();
        }
    }

    private ReplyMessage ask(Operation operation, UpstreamRequest request) throws InterruptedException {
        EventLoop loop = loops.next();
        Call call = new Call(operation, Call.NO_DEADLINE, connection.headers(), loop, ALLOCATOR);
        AwaitedReply reply = new AwaitedReply(new CompletableFuture<>());
        loop.execute(() -> upstream.send(call, request, reply));
        try {
            return reply.result().get();
        } catch (ExecutionException e) {
            if (!(e.getCause() instanceof OipException failure)) {
                throw new IllegalStateException(e);
            }
            // A command knows no upstreams, and names the server itself.
            String text = failure.message().replaceFirst("^upstream '" + NAME + "' ", "the server ");
            throw text.equals(failure.message())
                    ? failure
                    : new OipException(failure.code(), text, failure.getCause(), failure.processed());
        }
    }

    public record AwaitedReply(CompletableFuture<ReplyMessage> result) implements Reply {
        @Override
        public void message(ReplyMessage message) {
            if (!result.complete(message)) {
                message.release();
            }
        }

        @Override
        public void complete() {
            result.completeExceptionally(new OipException(ErrorCode.BAD_UPSTREAM_ANSWER, "a response is expected"));
        }

        @Override
        public void fail(OipException failure) {
            result.completeExceptionally(failure);
        }
    }

    @Override
    public void close() {
        upstream.close();
        if (tls != null) {
            tls.close();
        }
        loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
    }

    /**
     * The server that requests are sent to, and how.
     *
     * @param to an http or https URL without a path
     * @param ca PEM file with the certificates that vouch for the server's; null for those of the JVM
     * @param grpc whether requests are sent over gRPC, otherwise over REST
     * @param binary whether tensors are sent over REST as binary data
     * @param headers of each request
     * @param concurrency requests at a time
     */
    public record ServerConnection(
            URI to,
            @Nullable Path ca,
            boolean grpc,
            BinaryTensorData binary,
            Map<String, String> headers,
            int concurrency) {

        public ServerConnection {
            Map<String, String> lower = new HashMap<>();
            headers.forEach((name, value) -> lower.put(name.toLowerCase(Locale.ROOT), value));
            headers = Map.copyOf(lower);
        }
    }
}
