package dev.isthmus.gateway.http2;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.Http2CodecUtil;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicInteger;

/** One end of a connection over a socket, which sends arbitrary frames and reads frames one by one. */
public final class RawHttp2Connection implements Closeable {
    private static final int PREFACE = Http2CodecUtil.connectionPrefaceBuf().readableBytes();

    private final Socket socket;
    private final DataInputStream in;
    private final OutputStream out;
    private final AtomicInteger pings = new AtomicInteger();

    /** Whether the peer's PINGs are acknowledged when they are read. */
    public volatile boolean acknowledgesPings = true;

    RawHttp2Connection(Socket socket) throws IOException {
        this.socket = socket;
        socket.setTcpNoDelay(true);
        in = new DataInputStream(socket.getInputStream());
        out = socket.getOutputStream();
    }

    /** A client's connection to a server on loopback; preface and SETTINGS have been sent. */
    public static RawHttp2Connection connect(int port) throws IOException {
        return over(new Socket(InetAddress.getLoopbackAddress(), port));
    }

    /** As {@link #connect}, over a connected socket. */
    public static RawHttp2Connection over(Socket socket) throws IOException {
        RawHttp2Connection connection = new RawHttp2Connection(socket);
        connection.write(Unpooled.wrappedBuffer(RawFrames.preface(), RawFrames.settings()));
        return connection;
    }

    /** Exchanges prefaces as a server with these settings, as identifier and value pairs. */
    public void hello(int... settings) throws IOException {
        skipPreface();
        write(RawFrames.settings(settings));
    }

    public void skipPreface() throws IOException {
        in.skipNBytes(PREFACE);
    }

    /** Waits for the next frame; acknowledges SETTINGS and PINGs. */
    public RawFrame next() throws IOException {
        int lengthAndType = in.readInt();
        int flags = in.readUnsignedByte();
        int streamId = in.readInt();
        ByteBuf payload = Unpooled.wrappedBuffer(in.readNBytes(lengthAndType >>> 8));
        RawFrame frame = new RawFrame(lengthAndType & 0xff, flags, streamId, payload);
        if (frame.type() == FrameType.SETTINGS && !frame.isAck()) {
            send(FrameType.SETTINGS, FrameType.ACK, 0);
        } else if (frame.type() == FrameType.PING && !frame.isAck()) {
            pings.incrementAndGet();
            if (acknowledgesPings) {
                send(FrameType.PING, FrameType.ACK, 0, ByteBufUtil.getBytes(payload));
            }
        }
        return frame;
    }

    /** Waits for a frame of this type; returns its stream. */
    public int await(int type) throws IOException {
        RawFrame frame = next();
        while (frame.type() != type) {
            frame = next();
        }
        return frame.streamId();
    }

    /** Waits for the next request's headers; returns its stream. */
    public int request() throws IOException {
        return await(FrameType.HEADERS);
    }

    /** The number of PINGs that the peer has sent. */
    int pings() {
        return pings.get();
    }

    /** Sends fields as literals, from name and value pairs. */
    public void headers(int streamId, boolean end, String... namesAndValues) throws IOException {
        write(RawFrames.headers(streamId, end, namesAndValues));
    }

    /** Sends the headers of a successful gRPC response. */
    public void head(int streamId) throws IOException {
        headers(streamId, false, ":status", "200", "content-type", "application/grpc");
    }

    /** Sends a gRPC message of one byte. */
    public void message(int streamId) throws IOException {
        send(FrameType.DATA, 0, streamId, (byte) 0, (byte) 0, (byte) 0, (byte) 0, (byte) 1, (byte) 7);
    }

    /** Sends trailers with gRPC status OK. */
    public void trailers(int streamId) throws IOException {
        headers(streamId, true, "grpc-status", "0");
    }

    /** Sends a complete successful gRPC response. */
    public void respond(int streamId) throws IOException {
        head(streamId);
        message(streamId);
        trailers(streamId);
    }

    /** Sends a frame with a payload of 32-bit numbers. */
    public void words(int type, int streamId, int... words) throws IOException {
        ByteBuf payload = Unpooled.buffer(words.length * Integer.BYTES);
        for (int word : words) {
            payload.writeInt(word);
        }
        write(RawFrames.frame(type, 0, streamId, payload));
    }

    public void send(int type, int flags, int streamId, byte... payload) throws IOException {
        write(RawFrames.frame(type, flags, streamId, Unpooled.wrappedBuffer(payload)));
    }

    /** Sends bytes that need not be frames. */
    public void raw(String text) throws IOException {
        write(Unpooled.copiedBuffer(text, StandardCharsets.ISO_8859_1));
    }

    /** Sends these bytes and flushes. Synchronized. */
    public synchronized void write(ByteBuf bytes) throws IOException {
        out.write(ByteBufUtil.getBytes(bytes));
    }

    /** Waits until the peer closes. */
    public void awaitEnd() throws IOException {
        in.transferTo(OutputStream.nullOutputStream());
    }

    /** Closes with a TCP reset. */
    public void reset() throws IOException {
        socket.setSoLinger(true, 0);
        socket.close();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
