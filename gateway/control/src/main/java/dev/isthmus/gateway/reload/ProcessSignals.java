package dev.isthmus.gateway.reload;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Signals of the process. The JDK's class for them is in the module jdk.unsupported, which an image may lack, and no other way
 * is given: where it is missing nothing is heard of them.
 */
public final class ProcessSignals {
    private static final Logger LOG = LoggerFactory.getLogger(ProcessSignals.class);

    private ProcessSignals() {}

    /** At SIGHUP, by which operators ask a server to read its configuration again, does this instead of ending the process. */
    public static void onHangup(Runnable action) {
        handle("HUP", (old, signal) -> action.run());
    }

    /** At SIGINT and SIGTERM does this first, with the signal's name; then the process ends. */
    public static void beforeEnd(Consumer<String> action) {
        for (String name : new String[] {"INT", "TERM"}) {
            handle(name, (old, signal) -> {
                action.accept("SIG" + name);
                if (old != null) {
                    Class.forName("sun.misc.SignalHandler")
                            .getMethod("handle", signal.getClass())
                            .invoke(old, signal);
                }
            });
        }
    }

    private interface Action {
        /** @param old what was done at the signal before */
        void run(@Nullable Object old, Object signal) throws ReflectiveOperationException;
    }

    private static void handle(String name, Action action) {
        try {
            Class<?> signal = Class.forName("sun.misc.Signal");
            Class<?> handler = Class.forName("sun.misc.SignalHandler");
            SignalHandler taking = new SignalHandler(action);
            Object proxy = Proxy.newProxyInstance(handler.getClassLoader(), new Class<?>[] {handler}, taking);
            taking.old = signal.getMethod("handle", signal, handler)
                    .invoke(null, signal.getConstructor(String.class).newInstance(name), proxy);
        } catch (ReflectiveOperationException e) {
            LOG.info("SIG{} cannot be taken here", name);
        }
    }

    private static final class SignalHandler implements InvocationHandler {
        private final Action action;
        private volatile @Nullable Object old;

        SignalHandler(Action action) {
            this.action = action;
        }

        @Override
        public @Nullable Object invoke(Object proxy, Method method, Object @Nullable [] arguments) throws Throwable {
            if (method.getDeclaringClass() == Object.class) {
                return method.invoke(action, arguments);
            }
            if (arguments != null) {
                action.run(old, arguments[0]);
            }
            return null;
        }
    }
}
