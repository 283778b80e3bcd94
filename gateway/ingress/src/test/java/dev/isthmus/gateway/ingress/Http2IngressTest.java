package dev.isthmus.gateway.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.protobuf.Message;
import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.ClientConnection;
import dev.isthmus.gateway.call.Operation;
import dev.isthmus.gateway.http2.Http2Client;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.proto.ModelInferRequest;
import dev.isthmus.proto.ModelMetadataRequest;
import dev.isthmus.proto.ModelMetadataResponse;
import dev.isthmus.proto.ServerLiveRequest;
import dev.isthmus.proto.ServerLiveResponse;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.stub.ClientCalls;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** gRPC over the ingress, with grpc-java's client. */
@ParameterizedClass
@EnumSource(Transport.class)
class Http2IngressTest {
    private static final int MAX_MESSAGE = 4 << 20;

    @Parameter
    Transport transport = Transport.NIO;

    private final Calls calls = new Calls();
    private Ingress ingress;
    private ManagedChannel channel;

    @BeforeEach
    void start() throws Exception {
        ingress = new Ingress(transport, calls, MAX_MESSAGE);
        channel = NettyChannelBuilder.forAddress("127.0.0.1", ingress.port())
                .usePlaintext()
                .build();
    }

    @AfterEach
    void stop() throws Exception {
        channel.shutdownNow().awaitTermination(10, TimeUnit.SECONDS);
        ingress.close();
    }

    @Test
    void connection_isTheSameForAllItsCalls() throws Exception {
        ask("ServerLive", ServerLiveRequest.getDefaultInstance(), ServerLiveResponse.getDefaultInstance());
        ask("ServerLive", ServerLiveRequest.getDefaultInstance(), ServerLiveResponse.getDefaultInstance());
        ClientConnection first =
                Objects.requireNonNull(calls.opened.take().context().connection());
        assertThat(first.listener()).isEqualTo("test");
        assertThat(first.peer()).isNotNull();
        assertThat(calls.opened.take().context().connection()).isSameAs(first);
    }

    private <T extends Message, R extends Message> R ask(String method, T request, R response, CallOptions options) {
        return ClientCalls.blockingUnaryCall(channel, descriptor(method, request, response), options, request);
    }

    private <T extends Message, R extends Message> R ask(String method, T request, R response) {
        return ask(method, request, response, CallOptions.DEFAULT);
    }

    private static <T extends Message, R extends Message> MethodDescriptor<T, R> descriptor(
            String method, T request, R response) {
        return MethodDescriptor.newBuilder(ProtoUtils.marshaller(request), ProtoUtils.marshaller(response))
                .setType(MethodDescriptor.MethodType.UNARY)
                .setFullMethodName(method.contains("/") ? method : "inference.GRPCInferenceService/" + method)
                .build();
    }

    private Status failure(String method, ModelInferRequest request, CallOptions options) {
        try {
            ask(method, request, ModelInferRequest.getDefaultInstance(), options);
        } catch (StatusRuntimeException e) {
            return e.getStatus();
        }
        return Assertions.fail("it did not fail");
    }

    private static ModelInferRequest infer(String model, int bytes) {
        return ModelInferRequest.newBuilder()
                .setModelName(model)
                .setModelVersion("3")
                .addRawInputContents(ByteString.copyFrom(new byte[bytes]))
                .build();
    }

    @Test
    void queries_areServed() {
        assertThat(ask("ServerLive", ServerLiveRequest.getDefaultInstance(), ServerLiveResponse.getDefaultInstance())
                        .getLive())
                .isTrue();
        ModelMetadataResponse metadata = ask(
                "ModelMetadata",
                ModelMetadataRequest.newBuilder().setName("m").setVersion("2").build(),
                ModelMetadataResponse.getDefaultInstance());
        assertThat(metadata.getName()).isEqualTo("m");
        assertThat(metadata.getInputs(0).getShapeList()).containsExactly(-1L, 4L);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 16, 16_384, 602_112, (4 << 20) - 100})
    void infer_messageGoesAndComesUnchanged(int size) throws Exception {
        ModelInferRequest request = infer("m", size);
        assertThat(ask(
                        "ModelInfer",
                        request,
                        ModelInferRequest.getDefaultInstance(),
                        CallOptions.DEFAULT.withMaxInboundMessageSize(MAX_MESSAGE)))
                .isEqualTo(request);
        Call call = calls.opened.take();
        assertThat(((Operation.Infer) call.operation()).model()).isEqualTo(new ModelRef("m", "3"));
    }

    @Test
    void manyCalls_onOneConnection_areServed() throws Exception {
        List<ModelInferRequest> responses = new ArrayList<>();
        List<com.google.common.util.concurrent.ListenableFuture<ModelInferRequest>> pending = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            pending.add(ClientCalls.futureUnaryCall(
                    channel.newCall(
                            descriptor(
                                    "ModelInfer",
                                    ModelInferRequest.getDefaultInstance(),
                                    ModelInferRequest.getDefaultInstance()),
                            CallOptions.DEFAULT),
                    infer("m" + i, i * 10)));
        }
        for (var each : pending) {
            responses.add(each.get(20, TimeUnit.SECONDS));
        }
        for (int i = 0; i < 300; i++) {
            assertThat(responses.get(i)).isEqualTo(infer("m" + i, i * 10));
        }
    }

    @Test
    void failure_hasCodeAndText_andConnectionStaysUsable() {
        Status status = failure("ModelInfer", infer("bad", 10), CallOptions.DEFAULT);
        assertThat(status.getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
        assertThat(status.getDescription()).isEqualTo("input 'x': as bad as \"can\" be, 100 %");
        assertThat(ask("ModelInfer", infer("m", 3), ModelInferRequest.getDefaultInstance()))
                .isEqualTo(infer("m", 3));
    }

    @Test
    void message_tooLarge_isRefused_andConnectionStaysUsable() {
        Status status = failure("ModelInfer", infer("m", MAX_MESSAGE), CallOptions.DEFAULT);
        assertThat(status.getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
        assertThat(status.getDescription()).contains("at most 4194304 bytes");
        assertThat(ask("ModelInfer", infer("m", 3), ModelInferRequest.getDefaultInstance()))
                .isEqualTo(infer("m", 3));
    }

    @Test
    void method_unknown_isUnimplemented() {
        assertThat(failure("NoSuchMethod", infer("m", 1), CallOptions.DEFAULT).getCode())
                .isEqualTo(Status.Code.UNIMPLEMENTED);
        assertThat(failure("other.Service/Method", infer("m", 1), CallOptions.DEFAULT)
                        .getCode())
                .isEqualTo(Status.Code.UNIMPLEMENTED);
        assertThat(calls.opened).isEmpty();
    }

    @Test
    void message_compressed_isRead_andItsResponseIsCompressed() {
        ModelInferRequest request = infer("m", 1000);
        assertThat(ask(
                        "ModelInfer",
                        request,
                        ModelInferRequest.getDefaultInstance(),
                        CallOptions.DEFAULT.withCompression("gzip")))
                .isEqualTo(request);
    }

    @Test
    void deadline_isPassedOn_andItsPassingCancelsTheCall() throws Exception {
        Status status =
                failure("ModelInfer", infer("silent", 1), CallOptions.DEFAULT.withDeadlineAfter(1, TimeUnit.SECONDS));
        assertThat(status.getCode()).isEqualTo(Status.Code.DEADLINE_EXCEEDED);
        Call call = calls.opened.take();
        assertThat(call.hasDeadline()).isTrue();
        assertThat(calls.cancelled.poll(10, TimeUnit.SECONDS)).isSameAs(call);
    }

    @Test
    void expectContinue_getsAnInterimResponse_unlessTheFinalOneIsThere() throws Exception {
        try (Http2Client client = new Http2Client(ingress.port())) {
            Http2Client.Response taken = client.begin("/v2/models/m/infer", "expect", "100-continue");
            assertThat(taken.head().status()).hasToString("100");
            taken.data("abc".getBytes(StandardCharsets.US_ASCII), 0, 3, true);
            assertThat(taken.body()).isEqualTo("abc");
            assertThat(taken.trailers().status()).hasToString("200");
            assertThat(client.begin("/v2/nope", "expect", "100-continue").head().status())
                    .hasToString("404");
            assertThat(client.begin("/v2/models/m/infer", "expect", "200-ok")
                            .head()
                            .status())
                    .hasToString("417");
        }
    }

    @Test
    void client_cancels_callIsCancelled() throws Exception {
        ClientCall<ModelInferRequest, ModelInferRequest> call = channel.newCall(
                descriptor(
                        "ModelInfer", ModelInferRequest.getDefaultInstance(), ModelInferRequest.getDefaultInstance()),
                CallOptions.DEFAULT);
        call.start(new ClientCall.Listener<>() {}, new Metadata());
        call.request(1);
        call.sendMessage(infer("silent", 10));
        call.halfClose();
        Call opened = calls.opened.take();
        call.cancel("enough", null);
        assertThat(calls.cancelled.poll(10, TimeUnit.SECONDS)).isSameAs(opened);
    }
}
