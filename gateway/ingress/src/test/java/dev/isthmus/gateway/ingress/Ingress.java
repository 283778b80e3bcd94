package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.Service;
import dev.isthmus.gateway.http2.AbusePolicy;
import dev.isthmus.gateway.ingress.IngressSettings.BodyLimits;
import dev.isthmus.gateway.ingress.IngressSettings.BrowserAccess;
import dev.isthmus.gateway.net.ConnectionPolicy;
import dev.isthmus.gateway.net.Transport;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.settings.GatewayConfig.StreamMessageForm;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.util.concurrent.ImmediateEventExecutor;
import io.netty.util.concurrent.Promise;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** A real ingress on a free loopback port, and a client that writes bytes as given. */
final class Ingress implements AutoCloseable {
    private final EventLoopGroup loops;
    private final IngressServer server;
    private final Promise<Void> unblocked = ImmediateEventExecutor.INSTANCE.newPromise();

    Ingress(Transport transport, Service calls, long maxBodyBytes) throws Exception {
        loops = new MultiThreadIoEventLoopGroup(1, transport.ioHandlerFactory());
        server = IngressServer.listen(
                transport,
                loops,
                ByteBufAllocator.DEFAULT,
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                listener(calls, maxBodyBytes));
    }

    static ListenerContext listener(Service calls, long maxBodyBytes) {
        IngressSettings settings = new IngressSettings(
                BodyLimits.of(maxBodyBytes),
                100,
                GatewayConfig.Headers.DEFAULT.forwarded(),
                5,
                StreamMessageForm.TRITON,
                IngressSettings.HealthResponses.DEFAULT,
                false,
                1024,
                AbusePolicy.NONE,
                ConnectionPolicy.NONE);
        return new ListenerContext(calls, () -> settings).of("test", null, TrustedProxies.NONE, BrowserAccess.NONE);
    }

    int port() {
        return server.address().getPort();
    }

    Client connect() throws IOException {
        return new Client(new Socket(InetAddress.getLoopbackAddress(), port()));
    }

    /** Keeps the event loop from accepting until {@link #closeListener}. */
    void block() throws InterruptedException {
        CountDownLatch blocking = new CountDownLatch(1);
        loops.execute(() -> {
            blocking.countDown();
            unblocked.awaitUninterruptibly();
        });
        blocking.await();
    }

    /** Lets the event loop continue and closes the listener, whose closing is already waiting there. */
    void closeListener() throws InterruptedException {
        Thread closing = beginToClose();
        unblocked.setSuccess(null);
        closing.join();
    }

    /** Closes the listener, up to what its event loop has to do. */
    Thread beginToClose() {
        Thread closing = Thread.ofPlatform().start(server::close);
        while (closing.getState() != Thread.State.WAITING && closing.isAlive()) {
            Thread.onSpinWait();
        }
        return closing;
    }

    @Override
    public void close() {
        server.close();
        loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
    }

    /** An HTTP/1.1 response as read. */
    record Response(int status, Map<String, String> headers, String body) {}

    /** One connection. */
    static final class Client implements AutoCloseable {
        private final Socket socket;
        private final InputStream in;

        Client(Socket socket) throws IOException {
            this.socket = socket;
            socket.setSoTimeout(20_000);
            this.in = new BufferedInputStream(socket.getInputStream());
        }

        /** The address that the server sees. */
        SocketAddress address() {
            return socket.getLocalSocketAddress();
        }

        Client send(String text) throws IOException {
            socket.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
            socket.getOutputStream().flush();
            return this;
        }

        Client get(String path) throws IOException {
            return send("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n");
        }

        Client post(String path, String body) throws IOException {
            return send(
                    "POST " + path + " HTTP/1.1\r\nHost: a\r\nContent-Length: " + body.length() + "\r\n\r\n" + body);
        }

        Response read() throws IOException {
            Response head = readHead();
            int length = Integer.parseInt(head.headers().getOrDefault("content-length", "0"));
            return new Response(
                    head.status(), head.headers(), new String(in.readNBytes(length), StandardCharsets.UTF_8));
        }

        /** Reads a response without a body, whatever its headers say. */
        Response readHead() throws IOException {
            String status = line();
            Map<String, String> headers = new LinkedHashMap<>();
            for (String line = line(); !line.isEmpty(); line = line()) {
                int colon = line.indexOf(':');
                headers.put(
                        line.substring(0, colon).toLowerCase(Locale.ROOT),
                        line.substring(colon + 1).strip());
            }
            return new Response(Integer.parseInt(status.split(" ", -1)[1]), headers, "");
        }

        /** Whether the server closes the connection after everything it sent was read. */
        boolean closedByServer() throws IOException {
            try {
                return in.read() < 0;
            } catch (java.net.SocketException reset) {
                return true;
            }
        }

        private String line() throws IOException {
            ByteArrayOutputStream line = new ByteArrayOutputStream();
            for (int c = in.read(); c != '\n'; c = in.read()) {
                if (c < 0) {
                    throw new IOException("connection closed after '" + line + "'");
                }
                line.write(c);
            }
            return line.toString(StandardCharsets.ISO_8859_1).stripTrailing();
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }
}
