package dev.isthmus.gateway.settings;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.settings.GatewayConfig.ServerDialect;
import dev.isthmus.transcoder.message.Dialect;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ServerDialectTest {

    @ParameterizedTest
    @EnumSource(Dialect.class)
    void everyDialect_canBeConfiguredByItsName(Dialect dialect) {
        assertThat(ServerDialect.valueOf(dialect.name()).dialect()).isSameAs(dialect);
    }

    @Test
    void auto_isNone() {
        assertThat(ServerDialect.AUTO.dialect()).isNull();
        assertThat(ServerDialect.values()).hasSize(Dialect.values().length + 1);
    }
}
