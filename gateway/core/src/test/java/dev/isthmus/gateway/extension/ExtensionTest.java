package dev.isthmus.gateway.extension;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.Descriptors.MethodDescriptor;
import dev.isthmus.oip.ModelRef;
import dev.isthmus.proto.Inference;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ExtensionTest {
    /** Methods of the service that are not management extensions. */
    private static final Set<String> OTHERS = Set.of(
            "ServerLive",
            "ServerReady",
            "ModelReady",
            "ServerMetadata",
            "ModelMetadata",
            "ModelInfer",
            "ModelStreamInfer");

    private static List<MethodDescriptor> methods() {
        return Objects.requireNonNull(Inference.getDescriptor().findServiceByName("GRPCInferenceService"))
                .getMethods();
    }

    @Test
    void everyOtherMethodOfTheService_isAnExtension() {
        assertThat(Stream.of(Extension.values()).map(Extension::grpcMethod))
                .containsExactlyInAnyOrderElementsOf(methods().stream()
                        .map(MethodDescriptor::getName)
                        .filter(name -> !OTHERS.contains(name))
                        .collect(Collectors.toSet()));
    }

    @ParameterizedTest
    @EnumSource
    void messages_areThoseOfTheService(Extension extension) {
        MethodDescriptor method = methods().stream()
                .filter(each -> each.getName().equals(extension.grpcMethod()))
                .findFirst()
                .orElseThrow();
        assertThat(extension.request().type().getDescriptorForType()).isEqualTo(method.getInputType());
        assertThat(extension.response().getDescriptorForType()).isEqualTo(method.getOutputType());
    }

    @ParameterizedTest
    @EnumSource
    void emptyMessages_haveAFormInJson_andComeBack(Extension extension) throws Exception {
        ByteBuf json = ManagementJson.toJson(extension, Unpooled.buffer());
        ByteBuf request = ManagementJson.toProtobuf(extension, ModelRef.of(""), "", json);
        assertThat(request.isReadable()).as(json.toString()).isFalse();
        json.release();
        request.release();
        byte[] response = ManagementJson.toJson(extension, new byte[0]);
        assertThat(ManagementJson.toProtobuf(extension, response)).isEmpty();
    }

    @ParameterizedTest
    @EnumSource
    void names_standInTheMessage_andAreReplaced(Extension extension) throws Exception {
        ByteBuf none = Unpooled.buffer();
        ByteBuf request = ManagementJson.toProtobuf(extension, ModelRef.of("m"), "r", none);
        Extension.GrpcRequest read = extension.read(request);
        boolean named = extension.paths().getLast().model() >= 0;
        boolean resource = extension.paths().getLast().resource() >= 0;
        assertThat(read.model()).isEqualTo(ModelRef.of(named ? "m" : ""));
        assertThat(read.resource()).isEqualTo(resource ? "r" : "");
        ByteBuf other = extension.renamed(request, ModelRef.of("other"));
        assertThat(extension.read(other).model()).isEqualTo(ModelRef.of(named ? "other" : ""));
        other.release();
        request.release();
        none.release();
    }

    @Test
    void path_hasEveryNameThatIsGiven() {
        ModelRef version = new ModelRef("m", "2");
        assertThat(path(Extension.MODEL_STATISTICS, ModelRef.of(""), "")).isEqualTo("/v2/models/stats");
        assertThat(path(Extension.MODEL_STATISTICS, version, "")).isEqualTo("/v2/models/m/versions/2/stats");
        assertThat(path(Extension.REPOSITORY_LOAD, version, "")).isEqualTo("/v2/repository/models/m/load");
        assertThat(path(Extension.REPOSITORY_LOAD, version, "r")).isEqualTo("/v2/repository/r/models/m/load");
    }

    @Test
    void path_whoseNameIsMissing_isLeftToTheEncoder() {
        List<String> encoded = new ArrayList<>();
        Extension.SYSTEM_SHARED_MEMORY_REGISTER.path(ModelRef.of(""), "", (what, name) -> {
            encoded.add(what + "=" + name);
            return name;
        });
        assertThat(encoded).containsExactly("region name=");
    }

    private static String path(Extension extension, ModelRef model, String resource) {
        return extension.path(model, resource, (what, name) -> name);
    }
}
