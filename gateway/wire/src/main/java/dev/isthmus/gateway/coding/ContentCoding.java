package dev.isthmus.gateway.coding;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import io.netty.channel.ChannelHandler;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.compression.ZlibCodecFactory;
import io.netty.handler.codec.compression.ZlibWrapper;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The supported content codings of bodies and of gRPC messages. */
public enum ContentCoding {
    GZIP("gzip"),
    DEFLATE("deflate");

    /** The supported codings as a value of {@code Accept-Encoding}. */
    public static final String ACCEPTED = "gzip, deflate";

    /** The supported codings as a value of {@code grpc-accept-encoding}. */
    public static final String ACCEPTED_BY_GRPC = "identity,deflate,gzip";

    /** Content above this many bytes is sent uncompressed: compressing it would block the event loop for too long. */
    public static final int MOST_COMPRESSED = 4 << 20;

    /** The fastest level: on a shared event loop, a few percent of size are not worth the time. */
    private static final int LEVEL = 1;

    private final String token;

    ContentCoding(String token) {
        this.token = token;
    }

    /** The coding's name in header fields. */
    public String token() {
        return token;
    }

    /** The coding of this name; null for {@code identity} and for unsupported names. */
    public static @Nullable ContentCoding of(String name) {
        return switch (name.trim().toLowerCase(Locale.ROOT)) {
            case "gzip", "x-gzip" -> GZIP;
            case "deflate" -> DEFLATE;
            default -> null;
        };
    }

    /** The compressed content, owned by the caller; {@code content} is taken. */
    public ByteBuf compress(ByteBufAllocator allocator, ByteBuf content) {
        ChannelHandler encoder = switch (this) {
            case GZIP -> ZlibCodecFactory.newZlibEncoder(ZlibWrapper.GZIP, LEVEL);
            case DEFLATE -> ZlibCodecFactory.newZlibEncoder(ZlibWrapper.ZLIB, LEVEL);
        };
        EmbeddedChannel channel = new EmbeddedChannel(encoder);
        channel.config().setAllocator(allocator);
        CompositeByteBuf out = allocator.compositeBuffer(Integer.MAX_VALUE);
        channel.writeOutbound(content);
        channel.finish();
        for (ByteBuf part = channel.readOutbound(); part != null; part = channel.readOutbound()) {
            out.addComponent(true, part);
        }
        return out;
    }

    public ContentInflater decoder(ByteBufAllocator allocator, InflationLimits limits) {
        return new ContentInflater(this == GZIP, allocator, limits);
    }
}
