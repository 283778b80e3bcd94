package dev.isthmus.gateway.grpc;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** The last frame of a gRPC-Web response: its trailers, as the fields of HTTP/1.1. */
public final class GrpcWebTrailers {
    /** The flag of a frame with trailers, uncompressed. */
    public static final int FLAG = 0x80;

    private GrpcWebTrailers() {}

    /**
     * The frame with these fields, owned by the caller.
     *
     * @param fields names in lower case. A line break in a value would begin another field, so it becomes a space
     */
    public static ByteBuf frame(Map<String, String> fields, ByteBufAllocator allocator) {
        StringBuilder text = new StringBuilder();
        fields.forEach((name, value) -> text.append(name)
                .append(": ")
                .append(value.replace('\r', ' ').replace('\n', ' '))
                .append("\r\n"));
        byte[] bytes = text.toString().getBytes(StandardCharsets.ISO_8859_1);
        return allocator
                .buffer(MessagePrefix.BYTES + bytes.length)
                .writeByte(FLAG)
                .writeInt(bytes.length)
                .writeBytes(bytes);
    }
}
