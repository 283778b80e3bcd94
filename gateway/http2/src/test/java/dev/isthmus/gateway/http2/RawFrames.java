package dev.isthmus.gateway.http2;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2Exception;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** Builds valid and invalid frames byte by byte, and parses and describes received ones. */
public final class RawFrames {
    /** A request's fields, all in the static table or literals: :method POST, :scheme http, :path /. */
    static final String REQUEST = "83" + "86" + "84";

    /** :status 200. */
    static final String RESPONSE = "88";

    private RawFrames() {}

    static ByteBuf hex(String hex) {
        return Unpooled.wrappedBuffer(ByteBufUtil.decodeHexDump(hex.replace(" ", "")));
    }

    public static ByteBuf frame(int type, int flags, int streamId, ByteBuf payload) {
        ByteBuf head = Unpooled.buffer(9)
                .writeMedium(payload.readableBytes())
                .writeByte(type)
                .writeByte(flags)
                .writeInt(streamId);
        return Unpooled.wrappedBuffer(head, payload);
    }

    static ByteBuf frame(int type, int flags, int streamId, String hex) {
        return frame(type, flags, streamId, hex(hex));
    }

    public static ByteBuf preface() {
        return Http2CodecUtil.connectionPrefaceBuf();
    }

    /**
     * A SETTINGS frame.
     *
     * @param identifiersAndValues alternating
     */
    public static ByteBuf settings(int... identifiersAndValues) {
        ByteBuf payload = Unpooled.buffer(identifiersAndValues.length * 3);
        for (int i = 0; i < identifiersAndValues.length; i += 2) {
            payload.writeShort(identifiersAndValues[i]).writeInt(identifiersAndValues[i + 1]);
        }
        return frame(FrameType.SETTINGS, 0, 0, payload);
    }

    public static ByteBuf windowUpdate(int streamId, int bytes) {
        return frame(FrameType.WINDOW_UPDATE, 0, streamId, Unpooled.buffer(4).writeInt(bytes));
    }

    /** A complete header block as literals, from name and value pairs. */
    public static ByteBuf headers(int streamId, boolean end, String... namesAndValues) {
        int flags = FrameType.END_HEADERS | (end ? FrameType.END_STREAM : 0);
        return frame(FrameType.HEADERS, flags, streamId, block(namesAndValues));
    }

    /** The headers of a gRPC call with further fields, from name and value pairs. */
    public static ByteBuf call(int streamId, String method, String... namesAndValues) {
        String[] fields = {
            ":method",
            "POST",
            ":scheme",
            "http",
            ":path",
            "/inference.GRPCInferenceService/" + method,
            ":authority",
            "a",
            "content-type",
            "application/grpc",
            "te",
            "trailers"
        };
        return headers(
                streamId,
                false,
                Stream.concat(Stream.of(fields), Stream.of(namesAndValues)).toArray(String[]::new));
    }

    static ByteBuf request(int streamId, boolean end) {
        return frame(FrameType.HEADERS, FrameType.END_HEADERS | (end ? FrameType.END_STREAM : 0), streamId, REQUEST);
    }

    public static ByteBuf data(int streamId, ByteBuf payload, boolean end) {
        return frame(FrameType.DATA, end ? FrameType.END_STREAM : 0, streamId, payload);
    }

    static ByteBuf data(int streamId, int length, boolean end) {
        return data(streamId, Unpooled.wrappedBuffer(new byte[length]), end);
    }

    /** Fields as literals, in this order. */
    static ByteBuf block(String... namesAndValues) {
        ByteBuf block = Unpooled.buffer();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            block.writeByte(0);
            for (String text : List.of(namesAndValues[i], namesAndValues[i + 1])) {
                length(block, text.length());
                block.writeCharSequence(text, StandardCharsets.ISO_8859_1);
            }
        }
        return block;
    }

    /** An integer with a prefix of seven bits (RFC 7541, 5.1). */
    private static void length(ByteBuf block, int length) {
        block.writeByte(Math.min(length, 0x7f));
        for (int rest = length - 0x7f; rest >= 0; rest = rest < 0x80 ? -1 : rest >> 7) {
            block.writeByte(rest < 0x80 ? rest : 0x80 | (rest & 0x7f));
        }
    }

    /** All that the channel has written since the last call. */
    public static ByteBuf written(EmbeddedChannel channel) {
        ByteBuf all = Unpooled.buffer();
        for (ByteBuf next = channel.readOutbound(); next != null; next = channel.readOutbound()) {
            all.writeBytes(next);
            next.release();
        }
        return all;
    }

    /** Parses bytes into frames. */
    public static List<RawFrame> frames(ByteBuf bytes) {
        List<RawFrame> frames = new ArrayList<>();
        while (bytes.isReadable()) {
            FrameHeader head = new FrameHeader();
            head.read(bytes);
            frames.add(new RawFrame(head.type, head.flags, head.streamId, bytes.readSlice(head.length)));
        }
        return frames;
    }

    /** Describes what the channel has written since the last call, one line per frame. */
    static List<String> written(EmbeddedChannel channel, DefaultHttp2HeadersDecoder decoder) {
        ByteBuf all = written(channel);
        List<String> lines = new ArrayList<>();
        ByteBuf preface = preface();
        if (ByteBufUtil.equals(preface, 0, all, 0, Math.min(24, all.readableBytes())) && all.readableBytes() >= 24) {
            all.skipBytes(24);
            lines.add("PREFACE");
        }
        frames(all).forEach(frame -> lines.add(line(frame, decoder)));
        return lines;
    }

    private static String line(RawFrame frame, DefaultHttp2HeadersDecoder decoder) {
        ByteBuf payload = frame.payload();
        String end = frame.endsStream() ? " end" : "";
        return switch (frame.type()) {
            case FrameType.DATA -> "DATA " + frame.streamId() + " " + frame.length() + end;
            case FrameType.HEADERS -> "HEADERS " + frame.streamId() + " " + fields(payload, decoder) + end;
            case FrameType.RST_STREAM -> "RST " + frame.streamId() + " " + payload.readUnsignedInt();
            case FrameType.SETTINGS -> frame.isAck() ? "SETTINGS ack" : "SETTINGS";
            case FrameType.PING -> "PING" + (frame.isAck() ? " ack " : " ") + payload.readLong();
            case FrameType.GOAWAY -> "GOAWAY " + payload.readInt() + " " + payload.readUnsignedInt();
            case FrameType.WINDOW_UPDATE -> "WINDOW " + frame.streamId() + " " + payload.readInt();
            default -> "TYPE " + frame.type() + " " + frame.length();
        };
    }

    private static String fields(ByteBuf block, DefaultHttp2HeadersDecoder decoder) {
        try {
            StringBuilder text = new StringBuilder("[");
            decoder.decodeHeaders(1, block)
                    .forEach(each -> text.append(each.getKey())
                            .append('=')
                            .append(each.getValue())
                            .append(' '));
            return text.toString().trim() + "]";
        } catch (Http2Exception e) {
            throw new AssertionError(e);
        }
    }
}
