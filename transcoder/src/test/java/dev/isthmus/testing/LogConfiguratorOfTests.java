package dev.isthmus.testing;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.Configurator;
import ch.qos.logback.classic.spi.ConfiguratorRank;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.spi.ContextAwareBase;

/** Warnings and errors on the console, unless {@value #PACKAGED} is set: the log is then as shipped. */
@ConfiguratorRank(ConfiguratorRank.CUSTOM_TOP_PRIORITY)
public final class LogConfiguratorOfTests extends ContextAwareBase implements Configurator {
    /** A system property of a process that a test starts. */
    public static final String PACKAGED = "isthmus.test.packaged-log";

    @Override
    public ExecutionStatus configure(LoggerContext loggers) {
        if (Boolean.getBoolean(PACKAGED)) {
            return ExecutionStatus.INVOKE_NEXT_IF_ANY;
        }
        PatternLayoutEncoder encoder = new PatternLayoutEncoder();
        encoder.setContext(loggers);
        encoder.setPattern("%d{HH:mm:ss.SSS} %-5level [%thread] %logger{30} %msg%n");
        encoder.start();
        ConsoleAppender<ILoggingEvent> out = new ConsoleAppender<>();
        out.setContext(loggers);
        out.setEncoder(encoder);
        out.start();
        Logger root = loggers.getLogger(Logger.ROOT_LOGGER_NAME);
        root.setLevel(Level.WARN);
        root.addAppender(out);
        return ExecutionStatus.DO_NOT_INVOKE_NEXT_IF_ANY;
    }
}
