package dev.isthmus.bench.process;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** A child process, with the last lines of its output. */
public final class Child {
    private static final int LINES = 200;
    private static final int PERIOD_MILLIS = 10;

    private final String name;
    private final Process process;
    private final BlockingQueue<String> unread = new ArrayBlockingQueue<>(LINES);
    private final Deque<String> last = new ArrayDeque<>();
    private final Consumer<String> lines;
    private volatile boolean read;

    Child(String name, Process process, Consumer<String> lines) {
        this.name = name;
        this.process = process;
        this.lines = lines;
        Thread.ofVirtual().name("bench-" + name).start(this::read);
    }

    private void read() {
        try (BufferedReader out =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = out.readLine(); line != null; line = out.readLine()) {
                keep(line);
                lines.accept(line);
                unread.offer(line); // dropped if full: then nothing awaits lines
            }
        } catch (IOException e) {
            keep(e.toString());
        } finally {
            read = true;
        }
    }

    private void keep(String line) {
        synchronized (last) {
            if (last.size() == LINES) {
                last.removeFirst();
            }
            last.addLast(line);
        }
    }

    /** Waits for a line with this prefix and returns the rest of it. */
    public String await(String beginning, Duration limit) throws BenchException, InterruptedException {
        long end = System.nanoTime() + limit.toNanos();
        while (System.nanoTime() < end && (!read || !unread.isEmpty())) {
            String line = unread.poll(20, TimeUnit.MILLISECONDS);
            if (line != null && line.startsWith(beginning)) {
                return line.substring(beginning.length());
            }
        }
        throw failure("did not print '" + beginning + "'");
    }

    /** Whether a process is ready; a failed request says that it is not. */
    public interface Readiness {
        boolean ready() throws IOException;
    }

    /** Waits until the process is ready. */
    public void awaitReady(Duration limit, Readiness readiness) throws BenchException, InterruptedException {
        long end = System.nanoTime() + limit.toNanos();
        while (!ready(readiness)) {
            if (!alive() || System.nanoTime() > end) {
                throw failure("did not become ready");
            }
            Thread.sleep(PERIOD_MILLIS);
        }
    }

    private static boolean ready(Readiness readiness) {
        try {
            return readiness.ready();
        } catch (IOException e) {
            return false;
        }
    }

    /** Collects the garbage of a Java process. */
    public void collectGarbage() throws IOException, InterruptedException, BenchException {
        Process jcmd = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin/jcmd").toString(), Long.toString(pid()), "GC.run")
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        if (!jcmd.waitFor(60, TimeUnit.SECONDS) || jcmd.exitValue() != 0) {
            jcmd.destroyForcibly();
            throw failure("could not run a garbage collection");
        }
    }

    /** Writes a line to its standard input. */
    public void tell(String line) throws IOException {
        OutputStream in = process.getOutputStream();
        in.write((line + "\n").getBytes(StandardCharsets.UTF_8));
        in.flush();
    }

    public long pid() {
        return process.pid();
    }

    public boolean alive() {
        return process.isAlive();
    }

    /** An exception with the last lines of the process's output. */
    public BenchException failure(String problem) {
        StringBuilder text = new StringBuilder(name + " " + problem + (alive() ? "" : ", and has ended"));
        synchronized (last) {
            last.stream()
                    .skip(Math.max(0, last.size() - 5))
                    .forEach(line -> text.append("\n    ").append(line));
        }
        return new BenchException(text.toString());
    }

    /** Sends SIGSTOP or SIGCONT. */
    public void signal(String signal) throws IOException, InterruptedException, BenchException {
        int status = new ProcessBuilder("kill", "-" + signal, Long.toString(process.pid()))
                .inheritIO()
                .start()
                .waitFor();
        if (status != 0) {
            throw failure("could not be sent SIG" + signal);
        }
    }

    /** Waits for the end of the process and returns its exit code. */
    public int awaitExit(Duration limit) throws BenchException, InterruptedException {
        if (!process.waitFor(limit.toNanos(), TimeUnit.NANOSECONDS)) {
            throw failure("has not ended within " + limit.toSeconds() + " s");
        }
        return process.exitValue();
    }

    /** Sends SIGKILL and waits for the end of the process. */
    public void kill() throws InterruptedException {
        destroy();
        process.waitFor();
    }

    /** Sends SIGKILL without waiting. */
    public void destroy() {
        process.destroyForcibly();
    }
}
