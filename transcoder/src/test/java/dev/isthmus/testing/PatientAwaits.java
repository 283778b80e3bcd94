package dev.isthmus.testing;

import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Has Awaitility wait for a condition for a minute where a test names no limit, rather than for 10 seconds, which a busy
 * machine may take for what takes milliseconds on an idle one. A condition that throws does not hold yet: a file that it
 * reads is still to be written, a server it asks still to be started; the exception is the cause of the failure at the
 * limit. Registered for every class.
 */
public final class PatientAwaits implements BeforeAllCallback {
    @Override
    public void beforeAll(ExtensionContext context) {
        Awaitility.setDefaultTimeout(Duration.ofMinutes(1));
        Awaitility.ignoreExceptionsByDefault();
    }
}
