package dev.isthmus.gateway.http1;

import dev.isthmus.oip.OipException;
import io.netty.buffer.ByteBuf;

/** Reads the line before a chunk: its size, and extensions, which are ignored (RFC 9112, 7.1). */
final class ChunkSize {
    private static final int MAX_DIGITS = 16;
    /** Of the extensions of a chunk, in bytes. */
    private static final int MAX_EXTENSION = 256;

    private long size;
    private int digits;
    private int extension;
    private boolean carriageReturn;

    /** The size; to be called when the line is complete. */
    long size() {
        return size;
    }

    /** Another line begins. */
    void begin() {
        size = 0;
        digits = 0;
        extension = 0;
        carriageReturn = false;
    }

    /**
     * Reads on.
     *
     * @return whether the line is complete
     * @throws OipException if it is malformed
     */
    boolean read(ByteBuf in) {
        while (in.isReadable()) {
            byte octet = in.readByte();
            if (carriageReturn) {
                require(octet == OctetClasses.LF, "a chunk size that ends in CR LF is expected");
                return true;
            }
            if (octet == OctetClasses.CR) {
                require(digits > 0, "a chunk size in hexadecimal digits is expected");
                carriageReturn = true;
            } else if (extension > 0 || octet == ';') {
                extension(octet);
            } else {
                digit(OctetClasses.hexadecimal(octet));
            }
        }
        return false;
    }

    private void digit(int digit) {
        digits++;
        require(digit >= 0 && digits <= MAX_DIGITS, "a chunk size in hexadecimal digits is expected");
        size = size << 4 | digit;
        require(size <= Integer.MAX_VALUE, "a chunk of at most " + Integer.MAX_VALUE + " bytes is expected");
    }

    /** Quotes could hide what another server takes for the end of the line. */
    private void extension(byte octet) {
        require(digits > 0, "a chunk size in hexadecimal digits is expected");
        extension++;
        require(extension <= MAX_EXTENSION, "a chunk extension of at most " + MAX_EXTENSION + " bytes is expected");
        require(
                (octet >= ' ' || octet == '\t') && octet != 0x7f && octet != '"',
                "a chunk extension without quotes and control characters is expected");
    }

    private static void require(boolean met, String message) {
        if (!met) {
            throw OipException.invalid(message);
        }
    }
}
