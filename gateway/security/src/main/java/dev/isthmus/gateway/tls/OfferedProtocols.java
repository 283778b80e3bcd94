package dev.isthmus.gateway.tls;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** The protocols that a ClientHello offers by ALPN (RFC 8446, 4.1.2; RFC 7301, 3.1). */
final class OfferedProtocols {
    /** Of the version and the random bytes, which come first. */
    private static final int FIXED = 34;

    private static final int ALPN = 16;

    private OfferedProtocols() {}

    /**
     * Whether a ClientHello offers one of these protocols, or offers none by ALPN.
     *
     * @param hello borrowed; begins behind the head of the handshake message; one that is malformed offers none
     */
    static boolean includeOneOf(ByteBuf hello, List<String> protocols) {
        try {
            ByteBuf extension = alpn(hello.slice());
            return !extension.isReadable() || includes(extension, protocols);
        } catch (IndexOutOfBoundsException truncated) {
            return true;
        }
    }

    /** The extension's list of names; empty if there is none. */
    private static ByteBuf alpn(ByteBuf in) {
        in.skipBytes(FIXED);
        in.skipBytes(in.readUnsignedByte());
        in.skipBytes(in.readUnsignedShort());
        in.skipBytes(in.readUnsignedByte());
        ByteBuf extensions = in.readSlice(in.isReadable() ? in.readUnsignedShort() : 0);
        while (extensions.isReadable()) {
            int type = extensions.readUnsignedShort();
            ByteBuf data = extensions.readSlice(extensions.readUnsignedShort());
            if (type == ALPN) {
                return data.readSlice(data.readUnsignedShort());
            }
        }
        return extensions;
    }

    private static boolean includes(ByteBuf names, List<String> protocols) {
        while (names.isReadable()) {
            if (protocols.contains(names.readString(names.readUnsignedByte(), StandardCharsets.ISO_8859_1))) {
                return true;
            }
        }
        return false;
    }
}
