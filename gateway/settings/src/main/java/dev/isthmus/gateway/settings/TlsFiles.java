package dev.isthmus.gateway.settings;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.cert.CertificateFactory;
import java.security.cert.X509CRL;
import java.security.cert.X509Certificate;
import java.security.interfaces.RSAKey;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** Reads and checks the files of TLS: certificates, keys, revocation lists. Blocks. */
public final class TlsFiles {
    private static final int MIN_RSA_BITS = 2048;
    /** A valid file is smaller. */
    private static final int MAX_BYTES = 4 << 20;

    private static final Pattern BLOCK =
            Pattern.compile("-----BEGIN ([A-Z0-9 ]{1,40})-----\\s([^-]*)-----END \\1-----", Pattern.DOTALL);

    private TlsFiles() {}

    /**
     * A certificate with its key.
     *
     * @param chain the certificate first, then those of its issuers
     */
    public record KeyedCertificate(List<X509Certificate> chain, PrivateKey key) {
        public KeyedCertificate {
            chain = List.copyOf(chain);
        }

        /** The certificate itself. */
        public X509Certificate certificate() {
            return chain.getFirst();
        }
    }

    /**
     * A certificate and its key.
     *
     * @throws TlsFileException if one of them cannot be read, others can read the key, or they do not belong together
     */
    public static KeyedCertificate keyed(Path certificate, Path key) {
        List<X509Certificate> chain = certificates(certificate);
        X509Certificate leaf = chain.getFirst();
        String algorithm = leaf.getPublicKey().getAlgorithm();
        if (!algorithm.equals("RSA") && !algorithm.equals("EC")) {
            throw new TlsFileException(certificate, "has a key of type " + algorithm + "; RSA or EC is expected", null);
        }
        if (leaf.getPublicKey() instanceof RSAKey rsa && rsa.getModulus().bitLength() < MIN_RSA_BITS) {
            throw new TlsFileException(
                    certificate,
                    "has an RSA key of " + rsa.getModulus().bitLength() + " bits; at least " + MIN_RSA_BITS
                            + " are expected",
                    null);
        }
        PrivateKey secret = key(key, leaf.getPublicKey());
        if (!fits(secret, leaf.getPublicKey())) {
            throw new TlsFileException(key, "does not fit the certificate in " + certificate, null);
        }
        return new KeyedCertificate(chain, secret);
    }

    /**
     * The certificates in a file.
     *
     * @throws TlsFileException if there is none, or one is malformed
     */
    public static List<X509Certificate> certificates(Path file) {
        return all(file, "CERTIFICATE", "certificate", (x509, in) -> (X509Certificate) x509.generateCertificate(in));
    }

    /**
     * The context of a JDK client that trusts the issuers in a file, and no others.
     *
     * @throws TlsFileException if the file cannot be used
     */
    public static SSLContext trusting(Path ca) {
        return trusting(certificates(ca));
    }

    /** The context of a JDK client that trusts these issuers, and no others. */
    public static SSLContext trusting(List<X509Certificate> issuers) {
        try {
            KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
            trusted.load(null, null);
            for (X509Certificate issuer : issuers) {
                trusted.setCertificateEntry("ca" + trusted.size(), issuer);
            }
            TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trust.init(trusted);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, trust.getTrustManagers(), null);
            return context;
        } catch (GeneralSecurityException | IOException e) {
            throw new IllegalStateException("every JDK has TLS", e);
        }
    }

    /**
     * The revocation lists in a file.
     *
     * @throws TlsFileException if there is none, or one is malformed
     */
    public static List<X509CRL> revocations(Path file) {
        return all(file, "X509 CRL", "revocation list", (x509, in) -> (X509CRL) x509.generateCRL(in));
    }

    /** Reads what is in one block. */
    private interface BlockReader<T> {
        T read(CertificateFactory x509, InputStream block) throws GeneralSecurityException;
    }

    /** What is in the blocks of this label, of which there must be one. */
    private static <T> List<T> all(Path file, String label, String what, BlockReader<T> reader) {
        List<T> all = new ArrayList<>();
        for (PemBlock block : blocks(file)) {
            if (block.label().equals(label)) {
                try {
                    CertificateFactory x509 = CertificateFactory.getInstance("X.509");
                    all.add(reader.read(x509, new ByteArrayInputStream(block.content())));
                } catch (GeneralSecurityException e) {
                    throw new TlsFileException(file, "has a malformed " + what, e);
                }
            }
        }
        if (all.isEmpty()) {
            throw new TlsFileException(file, "has no " + what + "; 'BEGIN " + label + "' is expected", null);
        }
        return all;
    }

    private static PrivateKey key(Path file, PublicKey ofCertificate) {
        exposure(file);
        for (PemBlock block : blocks(file)) {
            byte[] encoded = switch (block.label()) {
                case "PRIVATE KEY" -> block.content();
                case "RSA PRIVATE KEY", "EC PRIVATE KEY" ->
                    Pkcs8Encoder.of(block.content(), ofCertificate.getEncoded());
                default -> new byte[0];
            };
            if (encoded.length > 0) {
                return key(file, encoded, ofCertificate.getAlgorithm());
            }
        }
        throw new TlsFileException(file, "has no key; 'BEGIN PRIVATE KEY' is expected", null);
    }

    private static PrivateKey key(Path file, byte[] encoded, String algorithm) {
        try {
            return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(encoded));
        } catch (GeneralSecurityException e) {
            throw new TlsFileException(file, "has no usable key of the certificate's type, " + algorithm, e);
        }
    }

    private static void exposure(Path file) {
        String exposure;
        try {
            exposure = SecretFile.exposure(file);
        } catch (IOException e) {
            // Reading it reports the reason.
            return;
        }
        if (exposure != null) {
            throw new TlsFileException(file, exposure, null);
        }
    }

    private static boolean fits(PrivateKey secret, PublicKey open) {
        byte[] text = {1, 2, 3, 4};
        try {
            Signature signature =
                    Signature.getInstance(open.getAlgorithm().equals("EC") ? "SHA256withECDSA" : "SHA256withRSA");
            signature.initSign(secret);
            signature.update(text);
            byte[] signed = signature.sign();
            signature.initVerify(open);
            signature.update(text);
            return signature.verify(signed);
        } catch (GeneralSecurityException e) {
            // Keys of different curves or lengths.
            return false;
        }
    }

    /** Wraps keys in the older formats of PKCS#1 (RFC 8017) and SEC 1 (RFC 5915) as PKCS#8 (RFC 5208). */
    static final class Pkcs8Encoder {
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
            ByteBuffer out =
                    ByteBuffer.allocate(2 + more + length).put(tag).put((byte) (more == 0 ? length : 0x80 | more));
            for (int shift = 8 * (more - 1); shift >= 0; shift -= 8) {
                out.put((byte) (length >> shift));
            }
            for (byte[] part : parts) {
                out.put(part);
            }
            return out.array();
        }
    }

    /**
     * A block of a file in PEM format (RFC 7468).
     *
     * @param label as {@code CERTIFICATE}
     */
    private record PemBlock(String label, ByteBuffer encoded) {
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
    private static List<PemBlock> blocks(Path file) {
        List<PemBlock> blocks = new ArrayList<>();
        Matcher matcher = BLOCK.matcher(text(file));
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
