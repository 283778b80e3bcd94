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

/** By what servers are recognized; the texts are those of Triton 2.51, MLServer 1.7.1 and KServe 0.21. */
class ServerCapabilitiesTest {
    private final ServerCapabilities capabilities = ServerCapabilities.unknown();

    private static ServerMetadata metadata(String name, String... extensions) {
        return new ServerMetadata(name, "1.7.1", List.of(extensions));
    }

    private static OipException refusal(String text) {
        return OipException.ofServer(ErrorCode.NOT_FOUND, text);
    }

    @Test
    void name_tellsTheDialect() {
        assertThat(capabilities.isUnrecognized()).as("not asked yet").isFalse();
        capabilities.learn(metadata("mlserver"));
        assertThat(capabilities.dialect()).isEqualTo(Dialect.MLSERVER);
        assertThat(capabilities.dialectReason()).isEqualTo("its name 'mlserver'");
        assertThat(capabilities.isUnrecognized()).isFalse();
    }

    @ParameterizedTest
    @CsvSource({"schedule_policy, TRITON", "model_repository_extension, KSERVE"})
    void anotherName_extensionsTell(String extension, Dialect dialect) {
        capabilities.learn(metadata("production", "classification", extension));
        assertThat(capabilities.dialect()).isEqualTo(dialect);
        assertThat(capabilities.dialectReason()).isEqualTo("its extensions");
        assertThat(capabilities.isUnrecognized()).isFalse();
    }

    @ParameterizedTest
    @CsvSource({
        "Model isthmus-dialect-check not found, MLSERVER",
        "Model isthmus-dialect-check with version  not found, MLSERVER",
        "Request for unknown model: 'isthmus-dialect-check' is not found, TRITON",
        "Model with name isthmus-dialect-check does not exist., KSERVE"
    })
    void noExtensions_theAnswerAboutAnUnknownModelTells(String text, Dialect dialect) {
        capabilities.learn(metadata("production"));
        assertThat(capabilities.isUnrecognized()).isTrue();
        assertThat(capabilities.isAssumed()).as("not asked yet").isFalse();
        capabilities.learn(refusal(text.replace("''", "'")));
        assertThat(capabilities.dialect()).isEqualTo(dialect);
        assertThat(capabilities.dialectReason()).isEqualTo("its answer about an unknown model");
        assertThat(capabilities.isAssumed()).isFalse();
        capabilities.learn(metadata("production"));
        assertThat(capabilities.dialect()).as("metadata are polled").isEqualTo(dialect);
    }

    @Test
    void kserveUnderAnotherName_hasBinaryData() {
        capabilities.learn(metadata("production", "model_repository_extension"));
        assertThat(capabilities.peer(Wire.REST).binaryTensorData()).isTrue();
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
        assertThat(configured.dialectReason()).isEqualTo("dialect in the configuration");
    }
}
