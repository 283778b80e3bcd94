package dev.isthmus.gateway.warm;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.joran.JoranConfigurator;
import ch.qos.logback.core.status.Status;
import org.junit.jupiter.api.Test;

class LogConfigurationTest {
    /** A renamed class is only noticed at run time: logback then prints its status at each start. */
    @Test
    void packagedConfiguration_isReadWithoutComplaint() throws Exception {
        LoggerContext context = new LoggerContext();
        JoranConfigurator configurator = new JoranConfigurator();
        configurator.setContext(context);
        configurator.doConfigure(LogConfigurationTest.class.getResource("/logback.xml"));
        assertThat(context.getStatusManager().getCopyOfStatusList())
                .filteredOn(status -> status.getLevel() > Status.INFO)
                .isEmpty();
        assertThat(context.getTurboFilterList()).singleElement().isInstanceOf(WarmUpLogFilter.class);
        context.stop();
    }
}
