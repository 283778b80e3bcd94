package dev.isthmus.gateway.reload;

import java.lang.reflect.Proxy;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** SIGHUP, by which operators ask a server to read its configuration again. */
public final class Hangup {
    private static final Logger LOG = LoggerFactory.getLogger(Hangup.class);

    private Hangup() {}

    /**
     * Does something at each SIGHUP from now on, instead of ending the process; where there is no such signal, nothing. The
     * JDK's class for it is in the module jdk.unsupported, which an image may lack, and no other way is given.
     */
    public static void on(Runnable action) {
        try {
            Class<?> signal = Class.forName("sun.misc.Signal");
            Class<?> handler = Class.forName("sun.misc.SignalHandler");
            Object taking = Proxy.newProxyInstance(
                    handler.getClassLoader(), new Class<?>[] {handler}, (proxy, method, arguments) -> {
                        if (method.getDeclaringClass() == Object.class) {
                            return method.invoke(action, arguments);
                        }
                        action.run();
                        return null;
                    });
            signal.getMethod("handle", signal, handler)
                    .invoke(null, signal.getConstructor(String.class).newInstance("HUP"), taking);
        } catch (ReflectiveOperationException e) {
            LOG.info("SIGHUP cannot be taken here, so that it does not reload the configuration");
        }
    }
}
