package dev.isthmus.gateway.ingress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.isthmus.gateway.call.RequestSink;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.settings.ConfigLoader;
import dev.isthmus.gateway.settings.Listener;
import dev.isthmus.gateway.settings.TestAuthority;
import dev.isthmus.gateway.tls.TlsRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.netty.util.concurrent.EventExecutor;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Listeners that change. */
class ListenersTest {
    @TempDir
    Path folder = Path.of("");

    /** The first one accepts, the other one has the first connection. */
    private final EventLoopGroup loops =
            new MultiThreadIoEventLoopGroup(2, Transport.best().ioHandlerFactory());

    private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private final Listeners listeners = new Listeners(
            Transport.best(),
            loops,
            ByteBufAllocator.DEFAULT,
            Ingress.listener((call, reply) -> RequestSink.ENDED, 1000),
            new TlsRegistry(meters),
            meters);
    private final CountDownLatch busy = new CountDownLatch(1);
    private Socket client = new Socket();

    /** A connection that is accepted while the event loop that has to set it up is busy. */
    @BeforeEach
    void connect() throws Exception {
        new TestAuthority(folder, "ca").issue("one", "localhost", "127.0.0.1");
        listeners.prepare(List.of(secured())).commit();
        loops.forEach(this::block);
        client = new Socket(
                InetAddress.getLoopbackAddress(),
                listeners.addresses().getFirst().getPort());
    }

    private void block(EventExecutor loop) {
        if (loop != loops.iterator().next()) {
            loop.execute(() -> {
                try {
                    busy.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            });
        }
    }

    private Listener secured() throws Exception {
        return ConfigLoader.parse("isthmus.yaml", """
            default_upstream: local
            local: {embedded_models: true}
            listeners:
            - {port: 0, tls: {certificates: [{certificate: ca-one.pem, key: ca-one.key}]}}
            """, folder).listeners().getFirst();
    }

    @AfterEach
    void close() throws Exception {
        busy.countDown();
        client.close();
        listeners.close();
        loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
    }

    @Test
    void removedListener_keepsItsCertificateForTheConnectionAcceptedLast() throws Exception {
        change(listeners.prepare(List.of())::commit);
        handshake();
    }

    @Test
    void closedListener_keepsItsCertificateForTheConnectionAcceptedLast() throws Exception {
        change(listeners::close);
        handshake();
    }

    /** Ends when the change waits for the busy event loop. */
    private void change(Runnable change) {
        Thread changing = Thread.ofPlatform().start(change);
        await().until(() -> !changing.isAlive() || changing.getState() == Thread.State.TIMED_WAITING);
        busy.countDown();
    }

    private void handshake() throws Exception {
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, InsecureTrustManagerFactory.INSTANCE.getTrustManagers(), null);
        try (SSLSocket secured = (SSLSocket) context.getSocketFactory().createSocket(client, "localhost", 0, true)) {
            secured.startHandshake();
            assertThat(secured.getSession().isValid()).isTrue();
        }
    }
}
