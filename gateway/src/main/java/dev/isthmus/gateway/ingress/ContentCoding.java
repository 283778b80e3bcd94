package dev.isthmus.gateway.ingress;

import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import io.netty.channel.ChannelHandler;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.compression.DecompressionException;
import io.netty.handler.codec.compression.JdkZlibDecoder;
import io.netty.handler.codec.compression.ZlibCodecFactory;
import io.netty.handler.codec.compression.ZlibDecoder;
import io.netty.handler.codec.compression.ZlibWrapper;
import io.netty.handler.codec.compression.Zstd;
import io.netty.handler.codec.compression.ZstdDecoder;
import io.netty.handler.codec.compression.ZstdEncoder;
import java.util.Locale;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The compressions of bodies and of gRPC messages that are understood. */
enum ContentCoding {
    GZIP("gzip"),
    DEFLATE("deflate"),
    ZSTD("zstd");

    /** What is taken, as the header {@code Accept-Encoding} has it. */
    static final String ACCEPTED = "gzip, deflate" + (Zstd.isAvailable() ? ", zstd" : "");

    /** What is taken of gRPC messages, as {@code grpc-accept-encoding} has it. */
    static final String ACCEPTED_BY_GRPC = "identity,deflate,gzip";

    /** Fast: on a loop that other connections share, a few percent of size are not worth the time. */
    private static final int LEVEL = 1;

    private final String token;

    ContentCoding(String token) {
        this.token = token;
    }

    /** The name in headers. */
    String token() {
        return token;
    }

    /** The coding of this name; null for {@code identity} and for names that are not understood. */
    static @Nullable ContentCoding of(String name) {
        return switch (name.trim().toLowerCase(Locale.ROOT)) {
            case "gzip", "x-gzip" -> GZIP;
            case "deflate" -> DEFLATE;
            case "zstd" -> Zstd.isAvailable() ? ZSTD : null;
            default -> null;
        };
    }

    /** The first of the codings that a header {@code Accept-Encoding} takes; null for none. */
    static @Nullable ContentCoding accepted(@Nullable String header) {
        if (header == null) {
            return null;
        }
        for (String each : header.split(",", -1)) {
            String[] parts = each.split(";", -1);
            ContentCoding coding = of(parts[0]);
            if (coding != null && !(parts.length > 1 && parts[1].trim().matches("q=0(\\.0{0,3})?"))) {
                return coding;
            }
        }
        return null;
    }

    /** The compressed content, owned by the caller; {@code content} is taken. */
    ByteBuf compress(ByteBufAllocator allocator, ByteBuf content) {
        ChannelHandler encoder = switch (this) {
            case GZIP -> ZlibCodecFactory.newZlibEncoder(ZlibWrapper.GZIP, LEVEL);
            case DEFLATE -> ZlibCodecFactory.newZlibEncoder(ZlibWrapper.ZLIB, LEVEL);
            case ZSTD -> new ZstdEncoder();
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

    /**
     * A decoder of one body.
     *
     * @param maxBytes of what is decoded at once
     */
    Decoder decoder(ByteBufAllocator allocator, long maxBytes) {
        int most = (int) Math.min(maxBytes + 1, Integer.MAX_VALUE);
        return switch (this) {
            case GZIP -> new Decoder(new JdkZlibDecoder(ZlibWrapper.GZIP, false, most), allocator, maxBytes);
            case DEFLATE -> new Decoder(new JdkZlibDecoder(ZlibWrapper.ZLIB_OR_NONE, false, most), allocator, maxBytes);
            case ZSTD -> new Decoder(new ZstdDecoder(), allocator, maxBytes);
        };
    }

    /** The whole message, decoded and owned by the caller; {@code message} is taken. */
    ByteBuf decompress(ByteBufAllocator allocator, ByteBuf message, long maxBytes) {
        CompositeByteBuf out = allocator.compositeBuffer(Integer.MAX_VALUE);
        Decoder decoder = decoder(allocator, maxBytes);
        try {
            decoder.add(message, part -> out.addComponent(true, part));
            decoder.finish(part -> out.addComponent(true, part));
            return out;
        } catch (RuntimeException e) {
            out.release();
            throw e;
        } finally {
            decoder.release();
        }
    }

    /** Decodes one body as it comes. */
    static final class Decoder {
        private final ChannelHandler handler;
        private final EmbeddedChannel channel;
        private final long maxBytes;
        private long decoded;
        private boolean any;

        private Decoder(ChannelHandler handler, ByteBufAllocator allocator, long maxBytes) {
            this.handler = handler;
            this.maxBytes = maxBytes;
            this.channel = new EmbeddedChannel(handler);
            channel.config().setAllocator(allocator);
        }

        /**
         * Decodes the next part.
         *
         * @param part taken
         * @param out gets what is decoded, and owns it
         * @throws OipException for malformed or too large content
         */
        void add(ByteBuf part, Consumer<ByteBuf> out) {
            any |= part.isReadable();
            try {
                channel.writeInbound(part);
            } catch (DecompressionException e) {
                throw failure(e);
            }
            drain(out);
        }

        private OipException failure(DecompressionException cause) {
            String message = String.valueOf(cause.getMessage());
            return message.contains("exhausted")
                    ? tooLarge()
                    : new OipException(ErrorCode.INVALID_ARGUMENT, "malformed compressed content", cause);
        }

        private OipException tooLarge() {
            return new OipException(
                    ErrorCode.PAYLOAD_TOO_LARGE, "decompressed content: at most " + maxBytes + " bytes are taken");
        }

        private void drain(Consumer<ByteBuf> out) {
            for (ByteBuf part = channel.readInbound(); part != null; part = channel.readInbound()) {
                decoded += part.readableBytes();
                if (decoded > maxBytes) {
                    part.release();
                    throw tooLarge();
                }
                out.accept(part);
            }
        }

        /** The content is complete: fails where its end is missing. */
        void finish(Consumer<ByteBuf> out) {
            boolean incomplete = handler instanceof ZlibDecoder zlib && !zlib.isClosed();
            try {
                channel.finish();
            } catch (DecompressionException e) {
                throw failure(e);
            }
            drain(out);
            if (any && incomplete) {
                throw OipException.invalid("malformed compressed content: its end is missing");
            }
        }

        /** Gives back what is held; may be called more than once. */
        void release() {
            channel.finishAndReleaseAll();
        }
    }
}
