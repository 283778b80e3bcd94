package dev.isthmus.local.ort;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/** glibc's own libraries stand for those of cuDNN, which are in one folder as well. */
@EnabledOnOs(OS.LINUX)
class SystemLibraryTest {
    @Test
    void library_isFoundWhereTheLoaderFoundIt_withTheOthersOfItsFolder() {
        SystemLibrary math = SystemLibrary.find("libm.so.6", "cos").orElseThrow();
        assertThat(math.path()).isAbsolute().hasFileName("libm.so.6").exists();
        assertThat(math.hasBeside("libc.so.6")).isTrue();
        assertThat(math.hasBeside("libnone.so.6")).isFalse();
    }

    @Test
    void libraryThatIsNotThere_isNotFound() {
        assertThat(SystemLibrary.find("libnone.so.6", "cos")).isEmpty();
    }
}
