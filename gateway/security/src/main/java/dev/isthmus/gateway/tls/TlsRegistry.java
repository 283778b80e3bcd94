package dev.isthmus.gateway.tls;

import dev.isthmus.gateway.net.RepeatingLogEvent;
import dev.isthmus.gateway.settings.ListenerTls;
import dev.isthmus.gateway.settings.TlsFileException;
import dev.isthmus.gateway.settings.UpstreamTls;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.handler.ssl.ApplicationProtocolNames;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** All TLS contexts of a gateway. Thread-safe. */
public final class TlsRegistry {
    private static final Logger LOG = LoggerFactory.getLogger(TlsRegistry.class);
    private static final long CHECK_MILLIS = 1000;

    private final TlsMeters meters;
    private final Set<TlsContexts> watched = ConcurrentHashMap.newKeySet();

    public TlsRegistry(MeterRegistry registry) {
        this.meters = new TlsMeters(registry);
    }

    /**
     * Loads the files of a listener. Blocks.
     *
     * @param owner the listener's name, for logs
     * @throws TlsFileException if they cannot be used
     */
    public ServerTls server(String owner, ListenerTls settings) {
        return server(owner, settings, List.of(ApplicationProtocolNames.HTTP_2, ApplicationProtocolNames.HTTP_1_1));
    }

    /** As {@link #server}, for a listener that serves HTTP/1.1 only. */
    public ServerTls http1Server(String owner, ListenerTls settings) {
        return server(owner, settings, List.of(ApplicationProtocolNames.HTTP_1_1));
    }

    private ServerTls server(String owner, ListenerTls settings, List<String> protocols) {
        return shown(new ServerTls(owner, settings, protocols, this));
    }

    private <T extends TlsContexts> T shown(T contexts) {
        contexts.show();
        watched.add(contexts);
        return contexts;
    }

    /**
     * Loads the files of an upstream. Blocks.
     *
     * @param owner the upstream's name, for logs
     * @throws TlsFileException if they cannot be used
     */
    public ClientTls client(String owner, UpstreamTls settings) {
        return shown(new ClientTls(owner, settings, this));
    }

    TlsMeters meters() {
        return meters;
    }

    Set<TlsContexts> watched() {
        return watched;
    }

    /**
     * Starts reading files that have changed and are complete, as two consecutive checks see them.
     *
     * @param executor may block
     */
    public void watch(ScheduledExecutorService executor) {
        Runnable check = RepeatingLogEvent.guarded(
                LOG,
                "internal error in checking the files of certificates; please report it",
                () -> watched.forEach(each -> each.check(false)));
        executor.scheduleWithFixedDelay(check, CHECK_MILLIS, CHECK_MILLIS, TimeUnit.MILLISECONDS);
    }

    /** Reads files that have changed. Blocks. */
    public void checkNow() {
        watched.forEach(each -> each.check(true));
    }
}
