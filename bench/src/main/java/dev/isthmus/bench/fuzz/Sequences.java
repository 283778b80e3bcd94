package dev.isthmus.bench.fuzz;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** Runs sequences on several connections concurrently, and records the last seeds of each. */
final class Sequences implements AutoCloseable {
    private static final int KEPT = 30;
    private static final int REST_MILLIS = 40;

    /** A started sequence. */
    private record Played(long seed, long begunNanos) {}

    private final Player player;
    private final List<Deque<Played>> kept = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();
    private final AtomicLong count = new AtomicLong();
    private volatile boolean ended;
    private volatile @Nullable Throwable problem;

    private Sequences(int port) {
        player = new Player(port);
    }

    /** An endless series of sequences, derived from a seed. */
    static Sequences random(int port, long seed, int connections) {
        Sequences sequences = new Sequences(port);
        for (int connection = 0; connection < connections; connection++) {
            long own = SeededChoices.mix(seed, connection);
            sequences.begin(number -> SeededChoices.mix(own, number));
        }
        return sequences;
    }

    /** The sequences of a file written by {@link #save}, each connection's in order, repeatedly. */
    static Sequences replay(int port, Path file) throws IOException {
        Sequences sequences = new Sequences(port);
        for (List<Long> own : read(file).values()) {
            sequences.begin(number -> own.get((int) (number % own.size())));
        }
        return sequences;
    }

    /** All seeds of a file written by {@link #save}. */
    static List<Long> seeds(Path file) throws IOException {
        return read(file).values().stream().flatMap(List::stream).toList();
    }

    private static Map<Integer, List<Long>> read(Path file) throws IOException {
        Map<Integer, List<Long>> seeds = new TreeMap<>();
        for (String line : Files.readAllLines(file)) {
            String[] words = line.split(" ", -1);
            if (!line.startsWith("#") && words.length > 1) {
                seeds.computeIfAbsent(Integer.valueOf(words[0]), connection -> new ArrayList<>())
                        .add(Long.valueOf(words[1]));
            }
        }
        return seeds;
    }

    private interface Seeds {
        long seed(long number);
    }

    private void begin(Seeds seeds) {
        Deque<Played> last = new ArrayDeque<>();
        kept.add(last);
        threads.add(Thread.ofPlatform().daemon().name("fuzz-client").start(() -> run(seeds, last)));
    }

    private void run(Seeds seeds, Deque<Played> last) {
        try {
            for (long number = 0; !ended; number++) {
                long seed = seeds.seed(number);
                synchronized (last) {
                    if (last.size() == KEPT) {
                        last.removeFirst();
                    }
                    last.addLast(new Played(seed, System.nanoTime()));
                }
                player.play(Script.of(seed));
                count.incrementAndGet();
                Thread.sleep(REST_MILLIS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (Throwable e) {
            problem = e;
        }
    }

    /** The number of completed sequences. */
    long count() {
        return count.get();
    }

    /** The exception that stopped the player, or null. */
    @Nullable
    Throwable problem() {
        return problem;
    }

    /** Saves the last sequences of each connection, for {@link #replay}. */
    void save(Path file, long seed) throws IOException {
        long now = System.nanoTime();
        List<String> lines = new ArrayList<>();
        lines.add("# bench/fuzz --seed " + seed + " --replay " + file.getFileName()
                + ": connection, seed, ms before the end");
        Map<Integer, List<Played>> copies = new HashMap<>();
        for (int connection = 0; connection < kept.size(); connection++) {
            Deque<Played> last = kept.get(connection);
            synchronized (last) {
                copies.put(connection, List.copyOf(last));
            }
        }
        copies.forEach((connection, last) -> last.forEach(
                played -> lines.add(connection + " " + played.seed() + " " + (now - played.begunNanos()) / 1_000_000)));
        Files.write(file, lines);
    }

    /** Stops, and waits until all connections are closed. */
    @Override
    public void close() {
        ended = true;
        for (Thread thread : threads) {
            ThreadJoin.join(thread, 60_000);
        }
        player.close();
    }
}
