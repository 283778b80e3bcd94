package dev.isthmus.bench.attack;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** A connection with non-blocking I/O and explicit timeouts. All connections are used by one thread. */
class NonBlockingConnection implements Closeable {
    private static final ByteBuffer IN = ByteBuffer.allocateDirect(256 * 1024);

    private final SocketChannel channel;
    private boolean open = true;
    private long received;

    /** Connects, with the system's default receive buffer. */
    NonBlockingConnection(int port) throws IOException {
        this(port, 0);
    }

    /** Connects with a receive buffer of this many bytes; 0 for the system's default. */
    NonBlockingConnection(int port, int receiveBuffer) throws IOException {
        channel = SocketChannel.open();
        if (receiveBuffer > 0) {
            channel.setOption(StandardSocketOptions.SO_RCVBUF, receiveBuffer);
        }
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        channel.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        channel.configureBlocking(false);
    }

    /** Writes, and reads meanwhile; returns false if the peer closed or nothing could be written for the timeout. */
    boolean write(byte[] bytes, long timeoutMillis) throws InterruptedException {
        ByteBuffer out = ByteBuffer.wrap(bytes);
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
        while (open && out.hasRemaining()) {
            if (offer(out)) {
                end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
            } else if (System.nanoTime() > end) {
                return false;
            } else {
                poll();
                Thread.sleep(1);
            }
        }
        return open;
    }

    /** Writes as much as possible without waiting; returns false if nothing could be written. */
    boolean offer(ByteBuffer out) {
        try {
            return channel.write(out) > 0;
        } catch (IOException e) {
            // Bytes that the peer sent before it closed may still be readable.
            poll();
            open = false;
            return false;
        }
    }

    /** Reads received bytes; returns whether the connection is open. */
    final boolean poll() {
        while (open) {
            IN.clear();
            try {
                int count = channel.read(IN);
                if (count == 0) {
                    break;
                }
                open = count > 0;
                received += Math.max(0, count);
            } catch (IOException e) {
                open = false;
            }
            if (open) {
                received(IN.flip());
            }
        }
        return open;
    }

    /** Reads until the condition holds; returns false if the connection ended or the timeout expired first. */
    boolean await(BooleanSupplier condition, long millis) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        while (true) {
            boolean alive = poll();
            if (condition.getAsBoolean()) {
                return true;
            }
            if (!alive || System.nanoTime() > end) {
                return false;
            }
            Thread.sleep(1);
        }
    }

    /** Called with the bytes of each read. */
    void received(ByteBuffer bytes) {}

    boolean isOpen() {
        return open;
    }

    long receivedBytes() {
        return received;
    }

    @Override
    public void close() throws IOException {
        open = false;
        channel.close();
    }
}
