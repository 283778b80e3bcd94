package dev.isthmus.gateway.flow;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import dev.isthmus.proto.reflection.v1.ServerReflectionRequest;
import dev.isthmus.proto.reflection.v1.ServerReflectionResponse;
import dev.isthmus.proto.reflection.v1.ServiceResponse;
import io.grpc.CallOptions;
import io.grpc.MethodDescriptor;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** gRPC's server reflection, with grpc-java's client. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class GrpcReflectionTest {
    private Stage stage;

    @BeforeAll
    void start() throws Exception {
        stage = Stage.local();
    }

    @AfterAll
    void stop() {
        stage.close();
    }

    private List<ServerReflectionResponse> responses(String version, ServerReflectionRequest... requests)
            throws Exception {
        MethodDescriptor<ServerReflectionRequest, ServerReflectionResponse> method =
                MethodDescriptor.<ServerReflectionRequest, ServerReflectionResponse>newBuilder()
                        .setFullMethodName("grpc.reflection." + version + ".ServerReflection/ServerReflectionInfo")
                        .setType(MethodDescriptor.MethodType.BIDI_STREAMING)
                        .setRequestMarshaller(ProtoUtils.marshaller(ServerReflectionRequest.getDefaultInstance()))
                        .setResponseMarshaller(ProtoUtils.marshaller(ServerReflectionResponse.getDefaultInstance()))
                        .build();
        List<ServerReflectionResponse> all = new ArrayList<>();
        CompletableFuture<List<ServerReflectionResponse>> done = new CompletableFuture<>();
        StreamObserver<ServerReflectionRequest> call = ClientCalls.asyncBidiStreamingCall(
                stage.channel().newCall(method, CallOptions.DEFAULT), new StreamObserver<>() {
                    @Override
                    public void onNext(ServerReflectionResponse value) {
                        all.add(value);
                    }

                    @Override
                    public void onError(Throwable failure) {
                        done.completeExceptionally(failure);
                    }

                    @Override
                    public void onCompleted() {
                        done.complete(all);
                    }
                });
        for (ServerReflectionRequest request : requests) {
            call.onNext(request);
        }
        call.onCompleted();
        return done.get(30, TimeUnit.SECONDS);
    }

    private static ServerReflectionRequest symbol(String name) {
        return ServerReflectionRequest.newBuilder()
                .setHost("h")
                .setFileContainingSymbol(name)
                .build();
    }

    @ParameterizedTest
    @ValueSource(strings = {"v1", "v1alpha"})
    void servicesAreListed(String version) throws Exception {
        ServerReflectionRequest list =
                ServerReflectionRequest.newBuilder().setListServices("").build();
        ServerReflectionResponse response = responses(version, list).getFirst();
        assertThat(response.getOriginalRequest()).isEqualTo(list);
        assertThat(response.getListServicesResponse().getServiceList())
                .extracting(ServiceResponse::getName)
                .containsExactly(
                        "inference.GRPCInferenceService",
                        "grpc.health.v1.Health",
                        "grpc.reflection.v1.ServerReflection",
                        "grpc.reflection.v1alpha.ServerReflection");
    }

    @ParameterizedTest
    @CsvSource({
        "inference.GRPCInferenceService,inference.proto",
        "inference.GRPCInferenceService.ModelInfer,inference.proto",
        "inference.ModelInferRequest.InferInputTensor,inference.proto",
        "inference.ModelInferRequest.raw_input_contents,inference.proto",
        "grpc.health.v1.HealthCheckResponse.ServingStatus,grpc_health.proto"
    })
    void fileOfSymbol_comesWithItsImports(String name, String file) throws Exception {
        ServerReflectionResponse response = responses("v1", symbol(name)).getFirst();
        List<String> names = new ArrayList<>();
        List<String> imports = new ArrayList<>();
        for (ByteString each : response.getFileDescriptorResponse().getFileDescriptorProtoList()) {
            FileDescriptorProto proto = FileDescriptorProto.parseFrom(each);
            names.add(proto.getName());
            imports.addAll(proto.getDependencyList());
        }
        assertThat(names.getFirst()).isEqualTo(file);
        assertThat(names).containsAll(imports).doesNotHaveDuplicates();
        ServerReflectionRequest byName =
                ServerReflectionRequest.newBuilder().setFileByFilename(file).build();
        assertThat(responses("v1", byName).getFirst().getFileDescriptorResponse())
                .isEqualTo(response.getFileDescriptorResponse());
    }

    @Test
    void unknownSymbol_isAnError_andTheStreamContinues() throws Exception {
        ServerReflectionRequest empty = ServerReflectionRequest.getDefaultInstance();
        List<ServerReflectionResponse> all =
                responses("v1", symbol("no.Such"), empty, symbol("inference.ModelInferRequest"));
        assertThat(all).hasSize(3);
        assertThat(all.get(0).getErrorResponse().getErrorCode()).isEqualTo(5);
        assertThat(all.get(0).getErrorResponse().getErrorMessage()).isEqualTo("'no.Such' is not known");
        assertThat(all.get(1).getErrorResponse().getErrorCode()).isEqualTo(3);
        assertThat(all.get(2).hasFileDescriptorResponse()).isTrue();
    }
}
