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

/** A peer that writes frames byte by byte, right or wrong, and writes down in words the frames it gets. */
final class RawFrames {
    /** A request's fields, all in the static table or literals: :method POST, :scheme http, :path /. */
    static final String REQUEST = "83" + "86" + "84";

    /** :status 200. */
    static final String RESPONSE = "88";

    private RawFrames() {}

    static ByteBuf hex(String hex) {
        return Unpooled.wrappedBuffer(ByteBufUtil.decodeHexDump(hex.replace(" ", "")));
    }

    static ByteBuf frame(int type, int flags, int streamId, ByteBuf payload) {
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

    static ByteBuf preface() {
        return Http2CodecUtil.connectionPrefaceBuf();
    }

    static ByteBuf settings() {
        return frame(FrameType.SETTINGS, 0, 0, "");
    }

    static ByteBuf request(int streamId, boolean end) {
        return frame(FrameType.HEADERS, FrameType.END_HEADERS | (end ? FrameType.END_STREAM : 0), streamId, REQUEST);
    }

    static ByteBuf data(int streamId, int length, boolean end) {
        return frame(
                FrameType.DATA, end ? FrameType.END_STREAM : 0, streamId, Unpooled.wrappedBuffer(new byte[length]));
    }

    /** Fields as literals, in this order. */
    static ByteBuf block(String... namesAndValues) {
        ByteBuf block = Unpooled.buffer();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            block.writeByte(0);
            for (String text : List.of(namesAndValues[i], namesAndValues[i + 1])) {
                block.writeByte(text.length()).writeCharSequence(text, StandardCharsets.ISO_8859_1);
            }
        }
        return block;
    }

    /** What the channel has written since the last call, one line a frame. */
    static List<String> written(EmbeddedChannel channel, DefaultHttp2HeadersDecoder decoder) {
        ByteBuf all = Unpooled.buffer();
        for (ByteBuf next = channel.readOutbound(); next != null; next = channel.readOutbound()) {
            all.writeBytes(next);
            next.release();
        }
        List<String> lines = new ArrayList<>();
        ByteBuf preface = preface();
        if (ByteBufUtil.equals(preface, 0, all, 0, Math.min(24, all.readableBytes())) && all.readableBytes() >= 24) {
            all.skipBytes(24);
            lines.add("PREFACE");
        }
        while (all.isReadable()) {
            FrameHeader head = new FrameHeader();
            head.read(all);
            lines.add(line(head, all.readSlice(head.length), decoder));
        }
        all.release();
        return lines;
    }

    private static String line(FrameHeader head, ByteBuf payload, DefaultHttp2HeadersDecoder decoder) {
        String end = head.has(FrameType.END_STREAM) ? " end" : "";
        return switch (head.type) {
            case FrameType.DATA -> "DATA " + head.streamId + " " + head.length + end;
            case FrameType.HEADERS -> "HEADERS " + head.streamId + " " + fields(payload, decoder) + end;
            case FrameType.RST_STREAM -> "RST " + head.streamId + " " + payload.readUnsignedInt();
            case FrameType.SETTINGS -> head.has(FrameType.ACK) ? "SETTINGS ack" : "SETTINGS";
            case FrameType.PING -> "PING" + (head.has(FrameType.ACK) ? " ack " : " ") + payload.readLong();
            case FrameType.GOAWAY -> "GOAWAY " + payload.readInt() + " " + payload.readUnsignedInt();
            case FrameType.WINDOW_UPDATE -> "WINDOW " + head.streamId + " " + payload.readInt();
            default -> "TYPE " + head.type + " " + head.length;
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
