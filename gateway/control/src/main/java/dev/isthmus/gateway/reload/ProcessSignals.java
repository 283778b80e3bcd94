package dev.isthmus.gateway.reload;

import java.lang.reflect.Proxy;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Handles process signals. The JDK's only API for them is in the module jdk.unsupported, which a runtime image may
 * lack; without it signals are not handled.
 */
public final class ProcessSignals {
    private static final Logger LOG = LoggerFactory.getLogger(ProcessSignals.class);

    private ProcessSignals() {}

    /**
     * Runs the action on SIGHUP, the conventional request to reload the configuration, instead of ending the process.
     */
    public static void onHangup(Runnable action) {
        handle("HUP", action);
    }

    /**
     * Runs the action with the signal's name on each SIGINT and SIGTERM, instead of ending the process. Each runs on its
     * own thread, so that the action may block.
     */
    public static void onTermination(Consumer<String> action) {
        for (String name : new String[] {"INT", "TERM"}) {
            handle(name, () -> action.accept("SIG" + name));
        }
    }

    private static void handle(String name, Runnable action) {
        try {
            Class<?> signal = Class.forName("sun.misc.Signal");
            Class<?> handler = Class.forName("sun.misc.SignalHandler");
            Object proxy = Proxy.newProxyInstance(
                    handler.getClassLoader(), new Class<?>[] {handler}, (self, method, arguments) -> {
                        if (method.getDeclaringClass() == Object.class) {
                            return method.invoke(action, arguments);
                        }
                        action.run();
                        return null;
                    });
            signal.getMethod("handle", signal, handler)
                    .invoke(null, signal.getConstructor(String.class).newInstance(name), proxy);
        } catch (ReflectiveOperationException e) {
            LOG.info("SIG{} cannot be handled: this runtime lacks the module jdk.unsupported", name);
        }
    }
}
