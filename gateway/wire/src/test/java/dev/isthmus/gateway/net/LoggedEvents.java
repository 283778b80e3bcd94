package dev.isthmus.gateway.net;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.List;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.slf4j.LoggerFactory;

/** What one logger logs during a test, from INFO up. */
public final class LoggedEvents implements BeforeEachCallback, AfterEachCallback {
    private final Logger logger;
    /** Its list is guarded by itself. */
    private final ListAppender<ILoggingEvent> appender = new ListAppender<>();

    /** @param name of the logger */
    public LoggedEvents(String name) {
        logger = (Logger) LoggerFactory.getLogger(name);
    }

    /** The events so far. */
    public List<ILoggingEvent> all() {
        synchronized (appender) {
            return List.copyOf(appender.list);
        }
    }

    /** The messages so far. */
    public List<String> messages() {
        return all().stream().map(ILoggingEvent::getFormattedMessage).toList();
    }

    @Override
    public void beforeEach(ExtensionContext test) {
        appender.start();
        logger.setLevel(Level.INFO);
        logger.addAppender(appender);
    }

    @Override
    public void afterEach(ExtensionContext test) {
        logger.detachAppender(appender);
        logger.setLevel(null);
    }
}
