package dev.isthmus.local.ort;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.isthmus.oip.OipException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class OrtJarTest {
    @Test
    void thisBuild_hasOne() {
        assertThatCode(() -> OrtJar.requireOne(OrtJarTest.class.getClassLoader()))
                .doesNotThrowAnyException();
        assertThat(OrtJar.present(OrtJarTest.class.getClassLoader())).isTrue();
    }

    @Test
    void none_isNotPresent() throws Exception {
        try (URLClassLoader without = new URLClassLoader(new URL[0], ClassLoader.getPlatformClassLoader())) {
            assertThat(OrtJar.present(without)).isFalse();
        }
    }

    @Test
    void second_isRefused(@TempDir Path other) throws Exception {
        Files.createFile(
                Files.createDirectories(other.resolve("ai/onnxruntime")).resolve("OrtEnvironment.class"));
        try (URLClassLoader both =
                new URLClassLoader(new URL[] {other.toUri().toURL()}, OrtJarTest.class.getClassLoader())) {
            assertThatThrownBy(() -> OrtJar.requireOne(both))
                    .isInstanceOf(OipException.class)
                    .hasMessageContaining("2 builds of ONNX Runtime");
        }
    }
}
