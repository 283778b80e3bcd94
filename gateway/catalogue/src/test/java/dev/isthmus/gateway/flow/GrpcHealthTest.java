package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.gateway.upstream.FakeGrpcServer;
import dev.isthmus.proto.health.HealthCheckRequest;
import dev.isthmus.proto.health.HealthCheckResponse;
import dev.isthmus.proto.health.HealthCheckResponse.ServingStatus;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.stub.ClientCalls;
import java.time.Duration;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** gRPC's health service, with grpc-java's client. */
class GrpcHealthTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private static MethodDescriptor<HealthCheckRequest, HealthCheckResponse> method(String name) {
        return MethodDescriptor.<HealthCheckRequest, HealthCheckResponse>newBuilder()
                .setFullMethodName("grpc.health.v1.Health/" + name)
                .setType(
                        name.equals("Watch")
                                ? MethodDescriptor.MethodType.SERVER_STREAMING
                                : MethodDescriptor.MethodType.UNARY)
                .setRequestMarshaller(ProtoUtils.marshaller(HealthCheckRequest.getDefaultInstance()))
                .setResponseMarshaller(ProtoUtils.marshaller(HealthCheckResponse.getDefaultInstance()))
                .build();
    }

    private static HealthCheckRequest of(String service) {
        return HealthCheckRequest.newBuilder().setService(service).build();
    }

    private static ServingStatus state(ManagedChannel channel, String service) {
        return ClientCalls.blockingUnaryCall(channel, method("Check"), CallOptions.DEFAULT, of(service))
                .getStatus();
    }

    private static Iterator<HealthCheckResponse> watch(ManagedChannel channel, String service) {
        CallOptions options = CallOptions.DEFAULT.withDeadlineAfter(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        return ClientCalls.blockingServerStreamingCall(channel, method("Watch"), options, of(service));
    }

    @ParameterizedTest
    @CsvSource({"'',OK", "inference.GRPCInferenceService,OK", "simple,OK", "simple/1,OK", "stranger,NOT_FOUND"})
    void check(String service, Status.Code expected) throws Exception {
        try (Stage stage = FleetStage.local()) {
            if (expected == Status.Code.OK) {
                assertThat(state(stage.channel(), service)).isEqualTo(ServingStatus.SERVING);
            } else {
                assertThatThrownBy(() -> state(stage.channel(), service))
                        .isInstanceOfSatisfying(
                                StatusRuntimeException.class,
                                e -> assertThat(e.getStatus().getCode()).isEqualTo(expected));
            }
        }
    }

    @Test
    void check_ofServersThatAreGone_isNotServing() throws Exception {
        FakeGrpcServer server = new FakeGrpcServer((call, message) -> call.close(Status.UNAVAILABLE, new Metadata()));
        try (Stage stage = FleetStage.of(Stage.grpc(server, ServerDialect.TRITON))) {
            server.close();
            await().atMost(PATIENCE)
                    .until(() -> state(stage.channel(), "inference.GRPCInferenceService") == ServingStatus.NOT_SERVING);
            assertThat(state(stage.channel(), "")).isEqualTo(ServingStatus.SERVING);
        }
    }

    @Test
    void watch_reportsTheStateAndItsChanges() throws Exception {
        FakeGrpcServer server = new FakeGrpcServer((call, message) -> call.close(Status.UNAVAILABLE, new Metadata()));
        try (Stage stage = FleetStage.routing(
                Map.of("server", Stage.grpc(server, ServerDialect.TRITON)), Map.of("m", "server"), null)) {
            Iterator<HealthCheckResponse> states = watch(stage.channel(), "m");
            ServingStatus first = states.next().getStatus();
            server.close();
            ServingStatus next = first;
            while (next != ServingStatus.NOT_SERVING) {
                next = states.next().getStatus();
            }
            assertThat(watch(stage.channel(), "stranger").next().getStatus()).isEqualTo(ServingStatus.SERVICE_UNKNOWN);
        }
    }

    @Test
    void watch_endsWhenTheGatewayDrains() throws Exception {
        try (Stage stage = FleetStage.local()) {
            Iterator<HealthCheckResponse> states = watch(stage.channel(), "");
            assertThat(states.next().getStatus()).isEqualTo(ServingStatus.SERVING);
            Thread drain = new Thread(() -> {
                try {
                    stage.proxy().drain(true);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            });
            drain.start();
            assertThat(states.next().getStatus()).isEqualTo(ServingStatus.NOT_SERVING);
            assertThatThrownBy(states::next)
                    .isInstanceOfSatisfying(
                            StatusRuntimeException.class,
                            e -> assertThat(e.getStatus().getCode()).isEqualTo(Status.Code.UNAVAILABLE));
            drain.join();
        }
    }
}
