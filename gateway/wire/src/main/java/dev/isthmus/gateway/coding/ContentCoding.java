package dev.isthmus.gateway.coding;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufOutputStream;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.Locale;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.GZIPOutputStream;
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

    /** Bytes that are written at once; the JDK's default of 512 takes many more calls. */
    private static final int BUFFER = 8 << 10;

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

    /**
     * The compressed content, owned by the caller; {@code content} is taken. Null if there is no memory for it: then
     * {@code content} is still the caller's, to be sent as it is.
     *
     * @param free zeros in front of it, in bytes
     */
    public @Nullable ByteBuf compress(ByteBufAllocator allocator, ByteBuf content, int free) {
        ByteBuf out = Unpooled.EMPTY_BUFFER;
        try {
            out = allocator.buffer(free + content.readableBytes() / 4 + 64).writeZero(free);
            try (OutputStream encoder = encoder(new ByteBufOutputStream(out))) {
                content.getBytes(content.readerIndex(), encoder, content.readableBytes());
            }
        } catch (OutOfMemoryError exhausted) {
            out.release();
            return null;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        content.release();
        return out;
    }

    private OutputStream encoder(OutputStream out) throws IOException {
        return switch (this) {
            case GZIP ->
                new GZIPOutputStream(out, BUFFER) {
                    {
                        def.setLevel(LEVEL);
                    }
                };
            case DEFLATE ->
                new DeflaterOutputStream(out) {
                    {
                        def.setLevel(LEVEL);
                    }
                };
        };
    }

    public ContentInflater decoder(ByteBufAllocator allocator, InflationLimits limits) {
        return new ContentInflater(this == GZIP, allocator, limits);
    }
}
