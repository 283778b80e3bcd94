package dev.isthmus.gateway.diagnosis;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.text.ParseException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import jdk.jfr.Configuration;
import jdk.jfr.Recording;

/** Records events of the JVM (JDK Flight Recorder), one recording at a time. Thread-safe. */
final class FlightRecording {
    /** They have the environment and the command lines of this process and of others, where secrets may be. */
    private static final List<String> CONFIDENTIAL = List.of(
            "jdk.InitialEnvironmentVariable", "jdk.InitialSystemProperty", "jdk.SystemProcess", "jdk.JVMInformation");

    private static final String SETTINGS = "profile";
    private static final long MAX_BYTES = 256L << 20;
    private static final long CHECK_MILLIS = 200;

    private final Semaphore free = new Semaphore(1);

    /**
     * Records for a time. Blocks.
     *
     * @param wanted whether someone still waits for it; asked several times a second
     * @return a file that only this user can read; the caller deletes it
     * @throws OipException ABORTED while another one is made, CANCELLED if it is not wanted any more, UNIMPLEMENTED if
     *     this JVM cannot record, UNAVAILABLE if the file cannot be written
     */
    Path record(int seconds, BooleanSupplier wanted) {
        if (!free.tryAcquire()) {
            throw new OipException(ErrorCode.ABORTED, "a recording is being made; one at a time is possible");
        }
        try (Recording recording = new Recording(settings())) {
            CONFIDENTIAL.forEach(recording::disable);
            recording.setMaxSize(MAX_BYTES);
            recording.start();
            await(seconds, wanted);
            recording.stop();
            return dumped(recording);
        } catch (IOException e) {
            throw new OipException(
                    ErrorCode.UNAVAILABLE,
                    "the recording cannot be written to the directory for temporary files, "
                            + System.getProperty("java.io.tmpdir"),
                    e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new OipException(ErrorCode.CANCELLED, "the recording was interrupted", e);
        } finally {
            free.release();
        }
    }

    private static Map<String, String> settings() {
        try {
            return Configuration.getConfiguration(SETTINGS).getSettings().entrySet().stream()
                    .filter(each -> CONFIDENTIAL.stream()
                            .noneMatch(event -> each.getKey().startsWith(event + "#")))
                    .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue));
        } catch (IOException | ParseException | IllegalStateException e) {
            throw new OipException(ErrorCode.UNIMPLEMENTED, "this JVM has no Flight Recorder", e);
        }
    }

    private static void await(int seconds, BooleanSupplier wanted) throws InterruptedException {
        CountDownLatch never = new CountDownLatch(1);
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        while (System.nanoTime() < end) {
            if (!wanted.getAsBoolean()) {
                throw new OipException(ErrorCode.CANCELLED, "nobody waits for the recording any more");
            }
            long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime()) + 1;
            if (never.await(Math.min(CHECK_MILLIS, left), TimeUnit.MILLISECONDS)) {
                return;
            }
        }
    }

    private static Path dumped(Recording recording) throws IOException {
        Path file = Files.createTempFile("isthmus-", ".jfr");
        try {
            recording.dump(file);
            return file;
        } catch (IOException | RuntimeException e) {
            Files.deleteIfExists(file);
            throw e;
        }
    }
}
