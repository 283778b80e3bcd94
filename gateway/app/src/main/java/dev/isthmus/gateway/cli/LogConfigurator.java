package dev.isthmus.gateway.cli;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.Configurator;
import ch.qos.logback.core.spi.ContextAwareBase;
import dev.isthmus.gateway.logging.ProcessLogAppender;
import dev.isthmus.gateway.warm.WarmUpLogFilter;

/**
 * The packaged configuration of the log, which Logback finds as a service. It is code because reading a file takes 390
 * more classes, an XML parser among them. A file named by {@code -Dlogback.configurationFile} takes its place.
 */
public final class LogConfigurator extends ContextAwareBase implements Configurator {

    @Override
    public ExecutionStatus configure(LoggerContext loggers) {
        if (System.getProperty("logback.configurationFile") != null) {
            return ExecutionStatus.INVOKE_NEXT_IF_ANY;
        }
        WarmUpLogFilter filter = new WarmUpLogFilter();
        filter.setContext(loggers);
        filter.start();
        loggers.addTurboFilter(filter);
        ProcessLogAppender appender = new ProcessLogAppender();
        appender.setContext(loggers);
        appender.start();
        // Warns at each start on a machine without CUDA.
        loggers.getLogger("ai.djl").setLevel(Level.ERROR);
        Logger root = loggers.getLogger(Logger.ROOT_LOGGER_NAME);
        root.setLevel(Level.INFO);
        root.addAppender(appender);
        return ExecutionStatus.DO_NOT_INVOKE_NEXT_IF_ANY;
    }
}
