package dev.isthmus.bench.fuzz;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** Runs scripts against a loopback port, each over its own connection. */
final class Player implements AutoCloseable {
    private static final int LIMIT_SECONDS = 15;

    private final int port;
    private final ScheduledExecutorService limits = Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().daemon().name("fuzz-limits").factory());

    Player(int port) {
        this.port = port;
    }

    /** Runs a script until its connection is closed. The responses are not checked. */
    void play(Script script) throws InterruptedException {
        CountDownLatch ended = new CountDownLatch(1);
        Future<?> limit = null;
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.setTcpNoDelay(true);
            limit = limits.schedule(() -> quietly(socket), LIMIT_SECONDS, TimeUnit.SECONDS);
            if (script.steps().getFirst() instanceof Step.Deaf) {
                ended.countDown();
            } else {
                Thread.ofVirtual().name("fuzz-reader").start(() -> drain(socket, ended));
            }
            for (Step step : script.steps()) {
                take(step, socket, ended);
            }
        } catch (IOException e) {
            // closed by the gateway, as expected for most of these
        } finally {
            if (limit != null) {
                limit.cancel(false);
            }
        }
    }

    private static void quietly(Socket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            // already closed
        }
    }

    @Override
    public void close() {
        limits.shutdownNow();
    }

    private static void take(Step step, Socket socket, CountDownLatch ended) throws IOException, InterruptedException {
        switch (step) {
            case Step.Send send -> send(send, socket.getOutputStream());
            case Step.Pause pause -> Thread.sleep(pause.millis());
            case Step.Await await -> {
                if (!ended.await(await.millis(), TimeUnit.MILLISECONDS)) {
                    return;
                }
            }
            case Step.HalfClose half -> socket.shutdownOutput();
            case Step.Reset reset -> socket.setSoLinger(true, 0);
            case Step.Deaf deaf -> socket.setReceiveBufferSize(1024);
        }
    }

    private static void send(Step.Send send, OutputStream out) throws IOException, InterruptedException {
        byte[] bytes = send.bytes();
        for (int at = 0; at < bytes.length; at += send.piece()) {
            int length = Math.min(send.piece(), bytes.length - at);
            out.write(bytes, at, length);
            if (send.pauseMillis() > 0) {
                Thread.sleep(send.pauseMillis());
            }
            if (length < send.piece()) {
                return;
            }
        }
    }

    private static void drain(Socket socket, CountDownLatch ended) {
        byte[] read = new byte[8192];
        try {
            InputStream in = socket.getInputStream();
            while (in.read(read) >= 0) {
                // responses are ignored
            }
        } catch (IOException e) {
            // the same
        } finally {
            ended.countDown();
        }
    }
}
