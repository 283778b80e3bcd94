package dev.isthmus.gateway.memory;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HeapTrimmerTest {
    private static final long MIB = 1 << 20;

    @ParameterizedTest
    @CsvSource(textBlock = """
            # used, live, a call, calls since, collections
              43,   10,   false,  20,          1
              42,   10,   false,  20,          0
              43,   10,   true,   20,          0
              43,   10,   false,  21,          0
              201,  100,  false,  0,           1
              200,  100,  false,  0,           0
            """)
    void heap_isCollected_ifMoreThanHalfIsGarbage_andHardlyAnyoneCalls(
            long used, long live, boolean busy, long calls, int expected) {
        AtomicInteger collections = new AtomicInteger();

        AtomicLong ended = new AtomicLong(100);
        AtomicBoolean garbage = new AtomicBoolean();
        HeapTrimmer trimmer = new HeapTrimmer(
                () -> busy,
                ended::get,
                () -> (garbage.get() ? used : live) * MIB,
                () -> live * MIB,
                collections::incrementAndGet);

        trimmer.check();
        ended.addAndGet(calls);
        garbage.set(true);
        trimmer.check();

        assertThat(collections).hasValue(expected);
    }

    /** With the options of small.options and of serial.options. */
    @ParameterizedTest
    @CsvSource({"24, 12, 31", "128, 64, 64"})
    void serialCollector_givesItsMemoryBack(int initial, int young, int old) throws Exception {
        Process process = new ProcessBuilder(
                        ProcessHandle.current().info().command().orElseThrow(),
                        "-XX:+UseSerialGC",
                        "-Xms" + initial + "m",
                        "-Xmn" + young + "m",
                        "-Xmx1g",
                        "-XX:-ShrinkHeapInSteps",
                        "-XX:MaxHeapFreeRatio=50",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Filled.class.getName())
                .redirectErrorStream(true)
                .start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(said).isZero();
        String[] committed = said.strip().split(" ", -1);
        assertThat(Long.parseLong(committed[0])).as(said).isGreaterThan(100 * MIB);
        assertThat(Long.parseLong(committed[1])).as(said).isLessThanOrEqualTo(old * MIB);
    }

    /** Fills the old generation with garbage; prints its size in bytes before and after the trimmer's check. */
    static final class Filled {
        private Filled() {}

        public static void main(String[] arguments) {
            MemoryPoolMXBean old = ManagementFactory.getMemoryPoolMXBeans().stream()
                    .filter(pool -> pool.getName().equals("Tenured Gen"))
                    .findFirst()
                    .orElseThrow();
            System.gc();
            List<byte[]> held = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
                held.add(new byte[(int) (16 * MIB)]);
            }
            Objects.requireNonNull(held).clear();
            long before = old.getUsage().getCommitted();
            HeapTrimmer.of(old, () -> false, () -> 0).check();
            System.out.println(before + " " + old.getUsage().getCommitted());
        }
    }
}
