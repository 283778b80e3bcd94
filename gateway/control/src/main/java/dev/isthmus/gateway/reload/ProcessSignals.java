package dev.isthmus.gateway.reload;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
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
        handle("HUP", (previous, signal) -> action.run());
    }

    /** Runs the action with the signal's name on SIGINT and SIGTERM, before the process ends. */
    public static void beforeEnd(Consumer<String> action) {
        for (String name : new String[] {"INT", "TERM"}) {
            handle(name, (previous, signal) -> {
                action.accept("SIG" + name);
                if (previous != null) {
                    Class.forName("sun.misc.SignalHandler")
                            .getMethod("handle", signal.getClass())
                            .invoke(previous, signal);
                }
            });
        }
    }

    private interface Action {
        /** @param previous the previous handler */
        void run(@Nullable Object previous, Object signal) throws ReflectiveOperationException;
    }

    private static void handle(String name, Action action) {
        try {
            Class<?> signal = Class.forName("sun.misc.Signal");
            Class<?> handler = Class.forName("sun.misc.SignalHandler");
            SignalHandler invocation = new SignalHandler(action);
            Object proxy = Proxy.newProxyInstance(handler.getClassLoader(), new Class<?>[] {handler}, invocation);
            invocation.previous = signal.getMethod("handle", signal, handler)
                    .invoke(null, signal.getConstructor(String.class).newInstance(name), proxy);
        } catch (ReflectiveOperationException e) {
            LOG.info("SIG{} cannot be handled: this runtime lacks the module jdk.unsupported", name);
        }
    }

    private static final class SignalHandler implements InvocationHandler {
        private final Action action;
        private volatile @Nullable Object previous;

        SignalHandler(Action action) {
            this.action = action;
        }

        @Override
        public @Nullable Object invoke(Object proxy, Method method, Object @Nullable [] arguments) throws Throwable {
            if (method.getDeclaringClass() == Object.class) {
                return method.invoke(action, arguments);
            }
            if (arguments != null) {
                action.run(previous, arguments[0]);
            }
            return null;
        }
    }
}
