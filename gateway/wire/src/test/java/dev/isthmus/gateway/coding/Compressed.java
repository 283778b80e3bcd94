package dev.isthmus.gateway.coding;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import java.util.zip.InflaterInputStream;

/** Compressed content in all supported forms, encoded by the JDK. */
public enum Compressed {
    GZIP("gzip"),
    /** gzip with all optional header fields. */
    GZIP_LONG_HEADER("gzip"),
    ZLIB("deflate"),
    RAW("deflate");

    private final String token;

    Compressed(String token) {
        this.token = token;
    }

    public String token() {
        return token;
    }

    public byte[] of(String text) {
        return of(text.getBytes(StandardCharsets.UTF_8));
    }

    public byte[] of(byte[] content) {
        try {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            try (OutputStream compressing = switch (this) {
                case GZIP, GZIP_LONG_HEADER -> new GZIPOutputStream(out);
                case ZLIB -> new DeflaterOutputStream(out);
                case RAW -> new DeflaterOutputStream(out, new Deflater(Deflater.DEFAULT_COMPRESSION, true));
            }) {
                compressing.write(content);
            }
            byte[] bytes = out.toByteArray();
            return this == GZIP_LONG_HEADER ? withLongHeader(bytes) : bytes;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static byte[] withLongHeader(byte[] gzip) throws IOException {
        ByteArrayOutputStream header = new ByteArrayOutputStream();
        // FHCRC, FEXTRA, FNAME and FCOMMENT.
        header.write(new byte[] {0x1f, (byte) 0x8b, 8, 2 | 4 | 8 | 16, 1, 2, 3, 4, 0, 3});
        header.write(new byte[] {3, 0, 'a', 0, 'c'});
        header.write("name\0comment\0".getBytes(StandardCharsets.US_ASCII));
        CRC32 crc = new CRC32();
        crc.update(header.toByteArray());
        header.write((int) crc.getValue());
        header.write((int) (crc.getValue() >> 8));
        header.write(gzip, 10, gzip.length - 10);
        return header.toByteArray();
    }

    public byte[] plain(byte[] compressed) throws IOException {
        InputStream in = new ByteArrayInputStream(compressed);
        try (InputStream plain = token.equals("gzip") ? new GZIPInputStream(in) : new InflaterInputStream(in)) {
            return plain.readAllBytes();
        }
    }
}
