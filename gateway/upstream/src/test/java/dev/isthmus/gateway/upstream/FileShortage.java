package dev.isthmus.gateway.upstream;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** Until this is closed, nobody in this process can open a file, by its limit; on Linux. */
public final class FileShortage implements AutoCloseable {
    private static final int RLIMIT_NOFILE = 7;
    private static final MethodHandle GET = function("getrlimit");
    private static final MethodHandle SET = function("setrlimit");

    private final long before;

    private FileShortage(long before) {
        this.before = before;
    }

    public static FileShortage begin() {
        return new FileShortage(set(0));
    }

    @SuppressWarnings("restricted") // functions of Linux
    private static MethodHandle function(String name) {
        Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(
                linker.defaultLookup().findOrThrow(name),
                FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.ADDRESS));
    }

    /** Returns what it was before. */
    private static long set(long files) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment limits = arena.allocate(ValueLayout.JAVA_LONG, 2);
            call(GET, limits);
            long before = limits.getAtIndex(ValueLayout.JAVA_LONG, 0);
            limits.setAtIndex(ValueLayout.JAVA_LONG, 0, files);
            call(SET, limits);
            return before;
        }
    }

    private static void call(MethodHandle function, MemorySegment limits) {
        int result;
        try {
            result = (int) function.invokeExact(RLIMIT_NOFILE, limits);
        } catch (Throwable e) {
            throw new LinkageError("a function of the C library", e);
        }
        assertThat(result).isZero();
    }

    @Override
    public void close() {
        set(before);
    }
}
