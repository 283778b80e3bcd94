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

/** A connection that is written and read without waiting for the peer longer than is said. One thread has all of them. */
class NonBlockingConnection implements Closeable {
    private static final ByteBuffer IN = ByteBuffer.allocateDirect(256 * 1024);

    private final SocketChannel channel;
    private boolean open = true;
    private long received;

    /** Connects. */
    NonBlockingConnection(int port) throws IOException {
        this(port, 0);
    }

    /** Connects with a receive buffer of so many bytes; 0: the system's. */
    NonBlockingConnection(int port, int receiveBuffer) throws IOException {
        channel = SocketChannel.open();
        if (receiveBuffer > 0) {
            channel.setOption(StandardSocketOptions.SO_RCVBUF, receiveBuffer);
        }
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        channel.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        channel.configureBlocking(false);
    }

    /** Writes, and reads meanwhile; returns whether all was taken: not where the peer closed, or took nothing for as long. */
    boolean write(byte[] bytes, long patienceMillis) throws InterruptedException {
        ByteBuffer out = ByteBuffer.wrap(bytes);
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(patienceMillis);
        while (open && out.hasRemaining()) {
            if (offer(out)) {
                end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(patienceMillis);
            } else if (System.nanoTime() > end) {
                return false;
            } else {
                poll();
                Thread.sleep(1);
            }
        }
        return open;
    }

    /** Writes what the socket takes at once; false where that is nothing. */
    boolean offer(ByteBuffer out) {
        try {
            return channel.write(out) > 0;
        } catch (IOException e) {
            // What the peer said before it closed may still be there to be read.
            poll();
            open = false;
            return false;
        }
    }

    /** Reads what has come; returns whether the connection is open. */
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

    /** Waits for something, reading; returns whether it came before the connection ended and the time passed. */
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

    /** Is told of what was read. */
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
