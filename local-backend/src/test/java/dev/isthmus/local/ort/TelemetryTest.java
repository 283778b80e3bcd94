package dev.isthmus.local.ort;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import org.junit.jupiter.api.Test;

/** ONNX Runtime sends no telemetry. */
class TelemetryTest {
    @Test
    @SuppressWarnings("restricted") // the library reads C's environment; Java's copy is older
    void library_findsItForbidden() throws Throwable {
        assertThat(OrtRuntime.get().usable()).isTrue();
        Linker linker = Linker.nativeLinker();
        MethodHandle getenv = linker.downcallHandle(
                linker.defaultLookup().find("getenv").orElseThrow(),
                FunctionDescriptor.of(ValueLayout.ADDRESS, ValueLayout.ADDRESS));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value = (MemorySegment) getenv.invokeExact(arena.allocateFrom(Telemetry.VARIABLE));
            assertThat(value.reinterpret(2).getString(0)).isEqualTo("1");
        }
    }
}
