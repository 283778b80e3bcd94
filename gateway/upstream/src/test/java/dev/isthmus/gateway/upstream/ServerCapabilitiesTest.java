package dev.isthmus.gateway.upstream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.settings.GatewayConfig.BinaryTensorData;
import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import dev.isthmus.oip.ServerMetadata;
import dev.isthmus.transcoder.message.Dialect;
import dev.isthmus.transcoder.message.Wire;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * By what servers are recognized; the texts are those of Triton 2.51, MLServer 1.7.1 and KServe 0.21, and from the
 * sources of OpenVINO Model Server 2026.3.
 */
class ServerCapabilitiesTest {
    private final ServerCapabilities capabilities = ServerCapabilities.unknown();

    private static ServerMetadata metadata(String name, String... extensions) {
        return new ServerMetadata(name, "1.7.1", List.of(extensions));
    }

    private static OipException refusal(String text) {
        return OipException.ofServer(ErrorCode.NOT_FOUND, text);
    }

    /** Red Hat's MLServer keeps the name. */
    @ParameterizedTest
    @CsvSource({"mlserver, MLSERVER", "OpenVINO Model Server, OVMS"})
    void name_tellsTheDialect(String name, Dialect dialect) {
        assertThat(capabilities.isUnrecognized()).as("not asked yet").isFalse();
        capabilities.learn(metadata(name));
        assertThat(capabilities.dialect()).isEqualTo(dialect);
        assertThat(capabilities.report().reason()).isEqualTo("its name '" + name + "'");
        assertThat(capabilities.isUnrecognized()).isFalse();
    }

    @ParameterizedTest
    @CsvSource({"schedule_policy, TRITON", "model_repository_extension, KSERVE"})
    void anotherName_extensionsTell(String extension, Dialect dialect) {
        capabilities.learn(metadata("production", "classification", extension));
        assertThat(capabilities.dialect()).isEqualTo(dialect);
        assertThat(capabilities.report().reason()).isEqualTo("its extension '" + extension + "'");
        assertThat(capabilities.isUnrecognized()).isFalse();
    }

    @ParameterizedTest
    @CsvSource({
        "Model isthmus-dialect-check not found, MLSERVER",
        "Model isthmus-dialect-check with version  not found, MLSERVER",
        "Request for unknown model: 'isthmus-dialect-check' is not found, TRITON",
        "Model with name isthmus-dialect-check does not exist., KSERVE",
        "Model with requested name is not found, OVMS"
    })
    void noExtensions_theAnswerAboutAnUnknownModelTells(String text, Dialect dialect) {
        capabilities.learn(metadata("production"));
        assertThat(capabilities.isUnrecognized()).isTrue();
        assertThat(capabilities.isAssumed()).as("not asked yet").isFalse();
        capabilities.learn(refusal(text.replace("''", "'")));
        assertThat(capabilities.dialect()).isEqualTo(dialect);
        assertThat(capabilities.report().reason()).isEqualTo("its answer about an unknown model");
        assertThat(capabilities.isAssumed()).isFalse();
        capabilities.learn(metadata("production"));
        assertThat(capabilities.dialect()).as("metadata are polled").isEqualTo(dialect);
    }

    @Test
    void kserveUnderAnotherName_hasBinaryData() {
        capabilities.learn(metadata("production", "model_repository_extension"));
        assertThat(capabilities.peer(Wire.REST).binaryTensorData()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"2026.3.0", "2023.0.0.fd742507", ""})
    void openVino_hasBinaryDataWithoutSayingSo(String version) {
        capabilities.learn(new ServerMetadata("OpenVINO Model Server", version, List.of()));
        assertThat(capabilities.peer(Wire.REST).binaryTensorData()).isTrue();
        assertThat(capabilities.peer(Wire.PROTOBUF).binaryTensorData()).isFalse();
    }

    @Test
    void contradiction_namesBoth_andChangesNothing() {
        var configured = new ServerCapabilities(ServerDialect.KSERVE, BinaryTensorData.AUTO, false);
        assertThat(configured.report().contradicted()).as("not asked yet").isFalse();
        configured.learn(metadata("OpenVINO Model Server"));
        assertThat(configured.dialect()).isEqualTo(Dialect.KSERVE);
        assertThat(configured.report().contradicted()).isTrue();
        assertThat(configured.report().sentence())
                .isEqualTo("its servers are called as kserve: dialect in the configuration,"
                        + " but its name 'OpenVINO Model Server' says ovms");
        configured.learn(metadata("kserve"));
        assertThat(configured.report().contradicted()).isFalse();
    }

    @Test
    void contradiction_followsFromTheAnswerAboutAnUnknownModelToo() {
        var configured = new ServerCapabilities(ServerDialect.TRITON, BinaryTensorData.AUTO, false);
        configured.learn(metadata("production"));
        assertThat(configured.isUnrecognized()).isTrue();
        assertThat(configured.report().contradicted()).isFalse();
        configured.learn(refusal("Model isthmus-dialect-check not found"));
        assertThat(configured.report().contradicted()).isTrue();
        assertThat(configured.report().reason()).endsWith("but its answer about an unknown model says mlserver");
        assertThat(configured.isAssumed()).isFalse();
    }

    @Test
    void configuredDialect_decidesAboutBinaryData() {
        var configured = new ServerCapabilities(ServerDialect.OVMS, BinaryTensorData.AUTO, false);
        configured.learn(metadata("production"));
        assertThat(configured.peer(Wire.REST).binaryTensorData()).isTrue();
    }

    @Test
    void nothingTells_isAssumedToBeGeneric_unlessConfigured() {
        capabilities.learn(metadata("production"));
        capabilities.learn(refusal("unknown model 'isthmus-dialect-check'"));
        assertThat(capabilities.dialect()).isEqualTo(Dialect.GENERIC);
        assertThat(capabilities.isAssumed()).isTrue();

        var configured = new ServerCapabilities(ServerDialect.GENERIC, BinaryTensorData.AUTO, false);
        configured.learn(metadata("production"));
        assertThat(configured.isUnrecognized()).isFalse();
        assertThat(configured.isAssumed()).isFalse();
        assertThat(configured.report().reason()).isEqualTo("dialect in the configuration");
    }
}
