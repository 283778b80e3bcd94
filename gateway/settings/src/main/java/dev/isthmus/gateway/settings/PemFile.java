package dev.isthmus.gateway.settings;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads files in PEM format (RFC 7468). */
final class PemFile {
    /** A valid file is smaller. */
    private static final int MAX_BYTES = 4 << 20;

    private static final Pattern BLOCK =
            Pattern.compile("-----BEGIN ([A-Z0-9 ]{1,40})-----\\s([^-]*)-----END \\1-----", Pattern.DOTALL);

    private PemFile() {}

    /**
     * One block of a file.
     *
     * @param label as {@code CERTIFICATE}
     */
    record PemBlock(String label, ByteBuffer encoded) {
        /** A copy of its content, in DER. */
        byte[] content() {
            byte[] copy = new byte[encoded.remaining()];
            encoded.get(encoded.position(), copy);
            return copy;
        }
    }

    /**
     * The blocks of a file, in order; text between them is ignored. Blocks.
     *
     * @throws TlsFileException if it cannot be read or a block is not base64
     */
    static List<PemBlock> read(Path file) {
        String text = text(file);
        List<PemBlock> blocks = new ArrayList<>();
        Matcher matcher = BLOCK.matcher(text);
        while (matcher.find()) {
            String label = matcher.group(1);
            String body = matcher.group(2);
            if (label.startsWith("ENCRYPTED") || body.contains("Proc-Type:")) {
                throw new TlsFileException(
                        file,
                        "is encrypted; a key without a password, in a file that only its owner can read, is"
                                + " expected",
                        null);
            }
            try {
                blocks.add(new PemBlock(
                        label, ByteBuffer.wrap(Base64.getMimeDecoder().decode(body))));
            } catch (IllegalArgumentException e) {
                throw new TlsFileException(file, "has a block " + label + " that is not base64", e);
            }
        }
        return blocks;
    }

    private static String text(Path file) {
        if (Files.isDirectory(file)) {
            throw new TlsFileException(file, "is a directory; a file in PEM format is expected", null);
        }
        try (InputStream in = Files.newInputStream(file)) {
            byte[] bytes = in.readNBytes(MAX_BYTES + 1);
            if (bytes.length > MAX_BYTES) {
                throw new TlsFileException(file, "is larger than " + MAX_BYTES + " bytes", null);
            }
            return new String(bytes, StandardCharsets.ISO_8859_1);
        } catch (NoSuchFileException e) {
            throw new TlsFileException(file, "does not exist", e);
        } catch (IOException e) {
            throw new TlsFileException(file, "cannot be read", e);
        }
    }
}
