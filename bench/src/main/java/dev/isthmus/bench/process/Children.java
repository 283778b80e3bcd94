package dev.isthmus.bench.process;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/** The processes that were started here. Whatever ends this program by itself, a signal included, ends them by their pid. */
public final class Children implements AutoCloseable {
    private final Set<Child> children = ConcurrentHashMap.newKeySet();
    private final Thread hook = new Thread(this::endAll, "bench-end");

    public Children() {
        Runtime.getRuntime().addShutdownHook(hook);
    }

    /** Starts a program of ours on the JDK that runs this one. */
    public Child java(String name, List<String> flags, String classPath, String main, List<String> arguments)
            throws IOException {
        List<String> command = new ArrayList<>(
                List.of(ProcessHandle.current().info().command().orElse("java"), "--enable-native-access=ALL-UNNAMED"));
        command.addAll(flags);
        command.addAll(List.of("-cp", classPath, main));
        command.addAll(arguments);
        return start(name, new ProcessBuilder(command));
    }

    /** Starts any program. */
    public Child start(String name, ProcessBuilder program) throws IOException {
        return start(name, program, line -> {});
    }

    /** Starts any program; whatever it prints is given to {@code lines}, on a thread of its own. */
    public Child start(String name, ProcessBuilder program, Consumer<String> lines) throws IOException {
        Child child = new Child(name, program.redirectErrorStream(true).start(), lines);
        children.add(child);
        return child;
    }

    /** Ends one by SIGKILL and returns when it is gone. */
    public void kill(Child child) throws InterruptedException {
        child.kill();
        children.remove(child);
    }

    private void endAll() {
        children.forEach(Child::destroy);
    }

    /** Ends all that are left. */
    @Override
    public void close() {
        endAll();
        children.clear();
        Runtime.getRuntime().removeShutdownHook(hook);
    }
}
