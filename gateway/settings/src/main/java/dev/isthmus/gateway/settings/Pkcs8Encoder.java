package dev.isthmus.gateway.settings;

import java.nio.ByteBuffer;

/** Wraps keys in the older formats of PKCS#1 (RFC 8017) and SEC 1 (RFC 5915) as PKCS#8 (RFC 5208). */
final class Pkcs8Encoder {
    private static final byte SEQUENCE = 0x30;
    private static final byte OCTET_STRING = 0x04;
    private static final byte[] VERSION = {0x02, 1, 0};

    private Pkcs8Encoder() {}

    /**
     * The key in PKCS#8.
     *
     * @param key in DER
     * @param publicKey a SubjectPublicKeyInfo of the same type, whose algorithm is taken
     */
    static byte[] of(byte[] key, byte[] publicKey) {
        return value(SEQUENCE, VERSION, algorithm(publicKey), value(OCTET_STRING, key));
    }

    /** The AlgorithmIdentifier, which is the first element. */
    private static byte[] algorithm(byte[] publicKey) {
        ByteBuffer in = ByteBuffer.wrap(publicKey);
        in.get();
        length(in);
        int from = in.position();
        in.get();
        int end = length(in) + in.position();
        byte[] algorithm = new byte[end - from];
        in.get(from, algorithm);
        return algorithm;
    }

    private static int length(ByteBuffer in) {
        int first = in.get() & 0xff;
        if (first < 0x80) {
            return first;
        }
        int length = 0;
        for (int i = 0; i < (first & 0x7f); i++) {
            length = length << 8 | (in.get() & 0xff);
        }
        return length;
    }

    private static byte[] value(byte tag, byte[]... parts) {
        int length = 0;
        for (byte[] part : parts) {
            length += part.length;
        }
        int more = length < 0x80 ? 0 : length < 0x100 ? 1 : length < 0x10000 ? 2 : 3;
        ByteBuffer out = ByteBuffer.allocate(2 + more + length).put(tag).put((byte) (more == 0 ? length : 0x80 | more));
        for (int shift = 8 * (more - 1); shift >= 0; shift -= 8) {
            out.put((byte) (length >> shift));
        }
        for (byte[] part : parts) {
            out.put(part);
        }
        return out.array();
    }
}
