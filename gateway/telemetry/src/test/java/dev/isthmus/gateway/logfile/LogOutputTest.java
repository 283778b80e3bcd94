package dev.isthmus.gateway.logfile;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** Files that are full, cannot be written or are gone. */
class LogOutputTest {
    private static final byte[] LINE = "a line\n".getBytes(StandardCharsets.UTF_8);
    private static final int ROTATE_AT = 10;

    /** From linux/memfd.h and linux/fcntl.h. */
    private static final int ALLOW_SEALING = 2;

    private static final int ADD_SEALS = 1033;
    private static final int SEAL_WRITE = 8;

    @TempDir
    private Path folder = Path.of(".");

    @Test
    void fullFile_thatSomebodyHasRemoved_beginsAnew() throws IOException {
        Path file = folder.resolve("log");
        for (int keep : new int[] {0, 1}) {
            LogOutput output = new LogOutput(file, ROTATE_AT, keep);
            output.write(LINE, LINE.length);
            Files.delete(file);
            output.write(LINE, LINE.length);
            output.close();
            assertThat(file).hasBinaryContent(LINE);
        }
    }

    @SuppressWarnings("restricted") // functions of Linux
    private static MethodHandle function(String name, FunctionDescriptor type, Linker.Option... options) {
        Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(linker.defaultLookup().findOrThrow(name), type, options);
    }

    /** A file of one byte that can be opened for writing, and not be written: as on a disk that is full. */
    private static Path full(String name) throws Throwable {
        ValueLayout.OfInt number = ValueLayout.JAVA_INT;
        int descriptor;
        try (Arena arena = Arena.ofConfined()) {
            descriptor = (int) function("memfd_create", FunctionDescriptor.of(number, ValueLayout.ADDRESS, number))
                    .invokeExact(arena.allocateFrom(name), ALLOW_SEALING);
        }
        Path file = Path.of("/proc/self/fd/" + descriptor);
        Files.write(file, new byte[1], StandardOpenOption.APPEND);
        int sealed = (int) function(
                        "fcntl",
                        FunctionDescriptor.of(number, number, number, number),
                        Linker.Option.firstVariadicArg(2))
                .invokeExact(descriptor, ADD_SEALS, SEAL_WRITE);
        assertThat(sealed).isZero();
        return file;
    }

    private static long opened(String name) throws IOException {
        try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
            return all.filter(each -> linked(each).contains(name)).count();
        }
    }

    private static String linked(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString();
        } catch (IOException closed) {
            return "";
        }
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void fullDisk_withALineThatIsCut_leavesNoFileOpen() throws Throwable {
        Path file = full("full-disk");
        LogOutput output = new LogOutput(file, Integer.MAX_VALUE, 1);
        for (int i = 0; i < 10; i++) {
            assertThatThrownBy(() -> output.write(LINE, LINE.length)).isInstanceOf(IOException.class);
        }
        assertThat(opened("full-disk")).isEqualTo(1);
        output.close();
    }
}
