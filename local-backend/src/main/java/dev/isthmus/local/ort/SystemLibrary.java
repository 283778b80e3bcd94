package dev.isthmus.local.ort;

import java.io.File;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A library that the system's loader finds.
 *
 * @param path where it found it, with links as they are
 */
record SystemLibrary(Path path) {
    /** Loads a library, which stays loaded, and looks where it came from; empty if there is none. */
    @SuppressWarnings("restricted") // ONNX Runtime requires native access anyway
    static Optional<SystemLibrary> find(String name, String symbol) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment address = SymbolLookup.libraryLookup(name, Arena.global())
                    .find(symbol)
                    .orElseThrow();
            Linker linker = Linker.nativeLinker();
            MethodHandle dladdr = linker.downcallHandle(
                    linker.defaultLookup().find("dladdr").orElseThrow(),
                    FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.ADDRESS));
            MemorySegment info = arena.allocate(ValueLayout.ADDRESS, 4);
            int found = (int) dladdr.invokeExact(address, info);
            MemorySegment path = info.get(ValueLayout.ADDRESS, 0).reinterpret(Long.MAX_VALUE);
            return found == 0 ? Optional.empty() : Optional.of(new SystemLibrary(Path.of(path.getString(0))));
        } catch (Throwable notFound) {
            return Optional.empty();
        }
    }

    /** Whether another library is beside it or in a folder of {@code LD_LIBRARY_PATH}; that one is not loaded. */
    boolean hasBeside(String name) {
        String folders = System.getenv().getOrDefault("LD_LIBRARY_PATH", "");
        return Stream.concat(
                        Stream.of(path.resolveSibling(name)),
                        Stream.of(folders.split(File.pathSeparator)).map(folder -> Path.of(folder, name)))
                .anyMatch(Files::exists);
    }
}
