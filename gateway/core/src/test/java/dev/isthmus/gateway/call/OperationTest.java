package dev.isthmus.gateway.call;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import dev.isthmus.gateway.call.Operation.BodyForm;
import dev.isthmus.gateway.extension.Extension;
import dev.isthmus.gateway.settings.Permission;
import dev.isthmus.oip.ModelRef;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

class OperationTest {
    private static final ModelRef MODEL = ModelRef.of("m");

    private static Operation infer(boolean stream) {
        return new Operation.Infer(MODEL, new BodyForm.RestForm(-1, -1, null), stream);
    }

    static Stream<Arguments> operations() {
        Operation ready = new Operation.ModelReady(MODEL);
        return Stream.of(
                arguments(new Operation.ServerLive(), Permission.HEALTH, true, false, false),
                arguments(new Operation.ServerReady(), Permission.HEALTH, true, false, false),
                arguments(new Operation.GatewayReady(), Permission.HEALTH, true, false, false),
                arguments(
                        new Operation.CheckHealth(new Operation.ServerReady(), true),
                        Permission.HEALTH,
                        true,
                        false,
                        false),
                arguments(new Operation.CheckHealth(ready, false), Permission.HEALTH, false, false, false),
                arguments(ready, Permission.HEALTH, false, false, false),
                arguments(new Operation.ReadServerMetadata(), Permission.METADATA, false, false, false),
                arguments(new Operation.ReadModelMetadata(MODEL), Permission.METADATA, false, false, false),
                arguments(new Operation.DescribeApi(null), Permission.METADATA, false, false, false),
                arguments(new Operation.Reflect(), Permission.METADATA, false, true, false),
                arguments(infer(false), Permission.INFER, false, true, true),
                arguments(infer(true), Permission.STREAM, false, true, true),
                arguments(new Operation.InferStream(true), Permission.STREAM, false, true, true),
                arguments(new Operation.Validate(MODEL, -1), Permission.INFER, false, true, true),
                arguments(new Operation.Generate(MODEL, false), Permission.GENERATE, false, true, true),
                arguments(new Operation.Generate(MODEL, true), Permission.GENERATE, false, true, true));
    }

    @ParameterizedTest
    @MethodSource("operations")
    void whatItNeeds(Operation operation, Permission permission, boolean probe, boolean permit, boolean large) {
        assertThat(operation.permission()).isEqualTo(permission);
        assertThat(operation.probe()).isEqualTo(probe);
        assertThat(operation.needsPermit()).isEqualTo(permit);
        assertThat(operation.largeBody()).isEqualTo(large);
    }

    @ParameterizedTest
    @EnumSource(Extension.class)
    void management_needsWhatItsExtensionSays(Extension extension) {
        Operation manage = new Operation.Manage(extension, MODEL, "", true, true, false);
        assertThat(manage.permission()).isEqualTo(extension.permission());
        assertThat(manage.largeBody()).isEqualTo(extension.carriesFiles());
        assertThat(manage.needsPermit()).isTrue();
        assertThat(manage.probe()).isFalse();
    }

    @Test
    void kindWithoutAPermission_grantsNone() {
        assertThatThrownBy(OperationKind.MANAGE::permission).isInstanceOf(NullPointerException.class);
    }
}
