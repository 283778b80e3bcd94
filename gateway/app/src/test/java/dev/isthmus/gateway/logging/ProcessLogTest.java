package dev.isthmus.gateway.logging;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.util.LogbackMDCAdapter;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.isthmus.gateway.logging.ProcessLogAppender.RepetitionLimit;
import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.settings.LogArea;
import dev.isthmus.gateway.settings.LogLevel;
import dev.isthmus.gateway.settings.LoggingConfig;
import dev.isthmus.gateway.settings.LoggingConfig.LogFormat;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ProcessLogTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final LoggingConfig DEBUG_TLS =
            new LoggingConfig(LogFormat.JSON, LogLevel.INFO, Map.of("tls", LogLevel.DEBUG));

    private final LoggerContext loggers = new LoggerContext();
    private final ByteArrayOutputStream written = new ByteArrayOutputStream();
    private final AtomicReference<PrintStream> out =
            new AtomicReference<>(new PrintStream(written, true, StandardCharsets.UTF_8));
    private final ProcessLogAppender appender = new ProcessLogAppender(out::get, new RepetitionLimit(System::nanoTime));
    private final AtomicReference<Instant> now = new AtomicReference<>(Instant.EPOCH);
    private final Logger fleet = loggers.getLogger("dev.isthmus.gateway.fleet.Replica");

    @BeforeEach
    void start() {
        loggers.setMDCAdapter(new LogbackMDCAdapter());
        appender.setContext(loggers);
        appender.start();
        loggers.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME).addAppender(appender);
    }

    @AfterEach
    void stop() {
        loggers.stop();
    }

    private ProcessLog log() {
        return ProcessLog.of(loggers, now::get).orElseThrow();
    }

    private List<String> lines() {
        log().flush();
        return written.toString(StandardCharsets.UTF_8).lines().toList();
    }

    @Test
    void process_hasOneLog() {
        assertThat(log()).isSameAs(log());
        assertThat(ProcessLog.of(new LoggerContext(), now::get)).isEmpty();
    }

    @Test
    void format_andLevels_areAsConfigured() throws Exception {
        log().configure(LoggingConfig.DEFAULT);
        fleet.info("first");
        fleet.debug("hidden");
        loggers.getLogger("io.netty.X").debug("hidden");
        assertThat(lines()).singleElement().asString().endsWith(" INFO  fleet - first");
        log().configure(DEBUG_TLS);
        fleet.atInfo().addKeyValue("server", "a:1").log("second");
        loggers.getLogger("dev.isthmus.gateway.tls.X").debug("third");
        assertThat(lines()).hasSize(3);
        JsonNode second = JSON.readTree(lines().get(1));
        assertThat(second.path("message").asText()).isEqualTo("second");
        assertThat(second.path("server").asText()).isEqualTo("a:1");
        assertThat(JSON.readTree(lines().get(2)).path("level").asText()).isEqualTo("DEBUG");
    }

    @Test
    void levelForATime_revertsByItself_andIsLogged() {
        log().configure(LoggingConfig.DEFAULT);
        log().set(List.of(LogArea.FLEET), LogLevel.DEBUG, Duration.ofMinutes(10));
        fleet.debug("seen");
        now.set(Instant.EPOCH.plus(Duration.ofMinutes(10)));
        await().until(() -> !fleet.isDebugEnabled());
        fleet.debug("not seen");
        await().untilAsserted(() -> assertThat(lines())
                .extracting(line -> line.substring(line.indexOf(" - ") + 3))
                .containsExactly(
                        "log level of fleet is debug for 10m", "seen", "log level of fleet is as configured again"));
    }

    @Test
    void repetitions_areLeftOut_unlessTheLevelIsDebug_andCountedAtTheEnd() {
        log().configure(LoggingConfig.DEFAULT);
        for (int i = 0; i < 10; i++) {
            fleet.atWarn().addMarker(RepeatingLogEvent.MARKER).log("again");
        }
        assertThat(lines()).hasSize(2).last().asString().endsWith("again (repeated 9 times)");
        log().set(List.of(LogArea.FLEET), LogLevel.DEBUG, Duration.ofMinutes(10));
        for (int i = 0; i < 10; i++) {
            fleet.atWarn().addMarker(RepeatingLogEvent.MARKER).log("each");
        }
        assertThat(lines()).filteredOn(line -> line.endsWith("each")).hasSize(10);
    }

    @Test
    void standardErrorThatIsNotRead_delaysNobody_andLostLinesAreCounted() throws Exception {
        log().configure(LoggingConfig.DEFAULT);
        CountDownLatch stuck = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        out.set(new PrintStream(new OutputStream() {
            @Override
            public void write(int b) {
                stuck.countDown();
                try {
                    goOn.await(1, TimeUnit.MINUTES);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
        }));
        fleet.info("first");
        assertThat(stuck.await(1, TimeUnit.MINUTES)).isTrue();
        for (int i = 0; i < 5000; i++) {
            fleet.info("line");
        }
        out.set(new PrintStream(written, true, StandardCharsets.UTF_8));
        goOn.countDown();
        await().untilAsserted(() -> assertThat(lines())
                .anySatisfy(line ->
                        assertThat(line).matches(".* WARN  gateway - 904 lines of the log were lost, because .*")));
        assertThat(lines()).filteredOn(line -> line.endsWith("line")).hasSize(4096);
    }

    @Test
    void document_hasEveryArea() {
        log().configure(DEBUG_TLS);
        log().set(List.of(LogArea.FLEET), LogLevel.ERROR, Duration.ofMinutes(10));
        JsonNode document = JSON.valueToTree(log().document());
        assertThat(document.path("format").asText()).isEqualTo("json");
        assertThat(document.path("loggers").size()).isEqualTo(LogArea.values().length);
        assertThat(document.path("loggers").path("tls").toString()).isEqualTo("{\"level\":\"debug\"}");
        assertThat(document.path("loggers").path("fleet").toString())
                .isEqualTo("{\"level\":\"error\",\"until\":\"1970-01-01T00:10:00Z\",\"configured\":\"info\"}");
        log().reset(List.of(LogArea.FLEET));
        assertThat(JSON.valueToTree(log().document())
                        .path("loggers")
                        .path("fleet")
                        .toString())
                .isEqualTo("{\"level\":\"info\"}");
    }

    @Test
    void valueThatCannotBeWritten_losesItsLineOnly() {
        log().configure(LoggingConfig.DEFAULT);
        Object faulty = new Object() {
            @Override
            public String toString() {
                throw new StackOverflowError();
            }
        };
        fleet.atInfo().addKeyValue("server", faulty).log("first");
        fleet.info("second");
        assertThat(lines()).singleElement().asString().endsWith(" INFO  fleet - second");
    }
}
