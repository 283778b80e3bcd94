package dev.isthmus.gateway.cli;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.Configurator;
import ch.qos.logback.classic.util.LogbackMDCAdapter;
import ch.qos.logback.core.status.Status;
import dev.isthmus.gateway.logging.ProcessLogAppender;
import dev.isthmus.gateway.warm.WarmUpLogFilter;
import java.util.ServiceLoader;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class LogConfiguratorTest {
    private final LoggerContext loggers = new LoggerContext();

    @AfterEach
    void stop() {
        loggers.stop();
    }

    @Test
    void logback_findsIt() {
        assertThat(ServiceLoader.load(Configurator.class)).hasAtLeastOneElementOfType(LogConfigurator.class);
    }

    @Test
    void log_isThatOfTheProcess_withoutComplaint() {
        loggers.setMDCAdapter(new LogbackMDCAdapter());

        assertThat(new LogConfigurator().configure(loggers))
                .isEqualTo(Configurator.ExecutionStatus.DO_NOT_INVOKE_NEXT_IF_ANY);

        assertThat(loggers.getStatusManager().getCopyOfStatusList())
                .noneMatch(status -> status.getLevel() > Status.INFO);
        assertThat(loggers.getTurboFilterList()).singleElement().isInstanceOf(WarmUpLogFilter.class);
        Logger root = loggers.getLogger(Logger.ROOT_LOGGER_NAME);
        assertThat(root.getLevel()).isEqualTo(Level.INFO);
        assertThat(root.iteratorForAppenders())
                .toIterable()
                .singleElement()
                .satisfies(appender -> assertThat(appender.isStarted()).isTrue())
                .isInstanceOf(ProcessLogAppender.class);
        assertThat(loggers.getLogger("ai.djl").getLevel()).isEqualTo(Level.ERROR);
    }

    @Test
    void aFileThatIsNamed_takesItsPlace() {
        System.setProperty("logback.configurationFile", "other.xml");
        try {
            assertThat(new LogConfigurator().configure(loggers))
                    .isEqualTo(Configurator.ExecutionStatus.INVOKE_NEXT_IF_ANY);
        } finally {
            System.clearProperty("logback.configurationFile");
        }
        assertThat(loggers.getLogger(Logger.ROOT_LOGGER_NAME)
                        .iteratorForAppenders()
                        .hasNext())
                .isFalse();
    }
}
