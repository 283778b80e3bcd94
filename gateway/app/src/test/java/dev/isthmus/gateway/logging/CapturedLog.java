package dev.isthmus.gateway.logging;

import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import dev.isthmus.gateway.logging.ProcessLogAppender.RepetitionLimit;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.LoggerFactory;

/** The log of this process as the packaged gateway writes it, kept in memory. */
public final class CapturedLog implements AutoCloseable {
    final AtomicLong nanoTime = new AtomicLong();
    private final LoggerContext loggers = (LoggerContext) LoggerFactory.getILoggerFactory();
    private final Logger root = loggers.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
    private final Level before = root.getLevel();
    private final ByteArrayOutputStream written = new ByteArrayOutputStream();
    private final ProcessLogAppender appender = new ProcessLogAppender(
            () -> new PrintStream(written, false, StandardCharsets.UTF_8), new RepetitionLimit(nanoTime::get));

    public CapturedLog() {
        appender.setContext(loggers);
        appender.start();
        root.addAppender(appender);
    }

    public List<String> lines() {
        ProcessLog.ofProcess().orElseThrow().flush();
        return written.toString(StandardCharsets.UTF_8).lines().toList();
    }

    /** Waits for a line that contains this text. */
    public String line(String text) {
        return await().until(
                        () -> lines().stream()
                                .filter(line -> line.contains(text))
                                .findFirst()
                                .orElse(""),
                        found -> !found.isEmpty());
    }

    @Override
    public void close() {
        root.detachAppender(appender);
        appender.stop();
        loggers.getLoggerList().stream()
                .filter(each -> each.getName().startsWith("dev.isthmus"))
                .forEach(each -> each.setLevel(null));
        root.setLevel(before);
    }
}
