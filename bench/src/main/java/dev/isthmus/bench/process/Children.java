package dev.isthmus.bench.process;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/** All child processes. They are killed by pid when this program ends, also by a signal. */
public final class Children implements AutoCloseable {
    private final Set<Child> children = ConcurrentHashMap.newKeySet();
    private final Thread hook = new Thread(this::endAll, "bench-end");

    public Children() {
        Runtime.getRuntime().addShutdownHook(hook);
    }

    /** Starts a Java program on the JDK that runs this one. */
    public Child java(String name, List<String> flags, String classPath, String main, List<String> arguments)
            throws IOException {
        return java(name, List.of(), flags, classPath, main, arguments);
    }

    /**
     * Starts a Java program on the JDK that runs this one.
     *
     * @param prefix a command that starts it, such as {@code prlimit} with its options; empty for none
     */
    public Child java(
            String name, List<String> prefix, List<String> flags, String classPath, String main, List<String> arguments)
            throws IOException {
        List<String> command = new ArrayList<>(prefix);
        command.add(ProcessHandle.current().info().command().orElse("java"));
        command.add("--enable-native-access=ALL-UNNAMED");
        command.addAll(flags);
        command.addAll(List.of("-cp", classPath, main));
        command.addAll(arguments);
        return start(name, new ProcessBuilder(command));
    }

    /** Starts any program. */
    public Child start(String name, ProcessBuilder program) throws IOException {
        return start(name, program, line -> {});
    }

    /** Starts any program; {@code lines} receives its output, on a separate thread. */
    public Child start(String name, ProcessBuilder program, Consumer<String> lines) throws IOException {
        Child child = new Child(name, program.redirectErrorStream(true).start(), lines);
        children.add(child);
        return child;
    }

    /** Sends SIGKILL to one and waits for its end. */
    public void kill(Child child) throws InterruptedException {
        child.kill();
        children.remove(child);
    }

    private void endAll() {
        children.forEach(Child::destroy);
    }

    /** Kills all remaining processes. */
    @Override
    public void close() {
        endAll();
        children.clear();
        Runtime.getRuntime().removeShutdownHook(hook);
    }
}
