package dev.isthmus.gateway.settings;

import java.io.IOException;
import java.io.StringWriter;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.KeyStore;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import org.bouncycastle.asn1.x500.X500Name;
import org.bouncycastle.asn1.x509.BasicConstraints;
import org.bouncycastle.asn1.x509.CRLReason;
import org.bouncycastle.asn1.x509.Extension;
import org.bouncycastle.asn1.x509.GeneralName;
import org.bouncycastle.asn1.x509.GeneralNames;
import org.bouncycastle.asn1.x509.KeyUsage;
import org.bouncycastle.cert.jcajce.JcaX509CertificateConverter;
import org.bouncycastle.cert.jcajce.JcaX509v2CRLBuilder;
import org.bouncycastle.cert.jcajce.JcaX509v3CertificateBuilder;
import org.bouncycastle.openssl.jcajce.JcaPEMWriter;
import org.bouncycastle.openssl.jcajce.JcaPKCS8Generator;
import org.bouncycastle.operator.ContentSigner;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;

/** A certificate authority that issues certificates into a folder. */
public final class TestAuthority {
    private static final AtomicLong SERIAL = new AtomicLong(1);

    private final Path folder;
    private final String name;
    private final KeyPair keys = ecKeys();
    private final X509Certificate certificate;

    /** A certificate and its key, in PEM files. */
    public record Issued(Path certificate, Path key, X509Certificate x509, KeyPair keys) {

        public ListenerTls.CertificateFiles files() {
            return new ListenerTls.CertificateFiles(certificate, key);
        }

        /** Of a JDK server that shows it. */
        public SSLContext server() throws Exception {
            KeyStore own = KeyStore.getInstance("PKCS12");
            own.load(null, null);
            own.setKeyEntry("own", keys.getPrivate(), new char[0], new X509Certificate[] {x509});
            KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            factory.init(own, new char[0]);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(factory.getKeyManagers(), null, null);
            return context;
        }
    }

    public TestAuthority(Path folder, String name) {
        this.folder = folder;
        this.name = name;
        Instant now = Instant.now();
        certificate = certificate("CN=" + name, keys, true, List.of(), now.minus(Duration.ofDays(2)), year(now));
        write("ca.pem", pem(certificate));
    }

    private static Instant year(Instant now) {
        return now.plus(Duration.ofDays(365));
    }

    /** The file with the authority's own certificate. */
    public Path ca() {
        return path("ca.pem");
    }

    public X509Certificate x509() {
        return certificate;
    }

    private Path path(String file) {
        return folder.resolve(name + "-" + file);
    }

    /** Issues a certificate for these host names or addresses, with an EC key in PKCS#8. */
    public Issued issue(String file, String... hosts) {
        List<GeneralName> names = new ArrayList<>();
        for (String host : hosts) {
            boolean address = host.matches("[0-9.]+|.*:.*");
            names.add(new GeneralName(address ? GeneralName.iPAddress : GeneralName.dNSName, host));
        }
        return issue(file, ecKeys(), names);
    }

    /** Issues a certificate with these names. */
    public Issued issue(String file, KeyPair keyPair, List<GeneralName> names) {
        Instant now = Instant.now();
        return issue(file, keyPair, names, now.minus(Duration.ofDays(1)), year(now));
    }

    /** Issues a certificate that has expired. */
    public Issued expired(String file, String host) {
        Instant now = Instant.now();
        return issue(
                file,
                ecKeys(),
                List.of(new GeneralName(GeneralName.dNSName, host)),
                now.minus(Duration.ofDays(2)),
                now.minus(Duration.ofDays(1)));
    }

    private Issued issue(String file, KeyPair keyPair, List<GeneralName> names, Instant from, Instant until) {
        X509Certificate x509 = certificate("CN=" + file + ",O=Test", keyPair, false, names, from, until);
        Issued issued = new Issued(path(file + ".pem"), path(file + ".key"), x509, keyPair);
        write(file + ".pem", pem(x509));
        write(file + ".key", pem(keyPair));
        return issued;
    }

    private X509Certificate certificate(
            String subject, KeyPair of, boolean authority, List<GeneralName> names, Instant from, Instant until) {
        try {
            JcaX509v3CertificateBuilder builder = new JcaX509v3CertificateBuilder(
                    new X500Name("CN=" + name),
                    BigInteger.valueOf(SERIAL.incrementAndGet()),
                    Date.from(from),
                    Date.from(until),
                    new X500Name(subject),
                    of.getPublic());
            builder.addExtension(Extension.basicConstraints, true, new BasicConstraints(authority));
            if (authority) {
                builder.addExtension(Extension.keyUsage, true, new KeyUsage(KeyUsage.keyCertSign | KeyUsage.cRLSign));
            }
            if (!names.isEmpty()) {
                builder.addExtension(
                        Extension.subjectAlternativeName, false, new GeneralNames(names.toArray(GeneralName[]::new)));
            }
            return new JcaX509CertificateConverter().getCertificate(builder.build(signer()));
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private ContentSigner signer() throws Exception {
        return new JcaContentSignerBuilder("SHA256withECDSA").build(keys.getPrivate());
    }

    /** Writes the revocation list, with these certificates. */
    public Path revoke(Issued... revoked) throws Exception {
        Instant now = Instant.now();
        JcaX509v2CRLBuilder builder = new JcaX509v2CRLBuilder(certificate, Date.from(now.minusSeconds(60)));
        builder.setNextUpdate(Date.from(year(now)));
        for (Issued each : revoked) {
            builder.addCRLEntry(each.x509().getSerialNumber(), Date.from(now), CRLReason.keyCompromise);
        }
        write("crl.pem", pem(builder.build(signer())));
        return path("crl.pem");
    }

    private void write(String file, String text) {
        try {
            Path path = path(file);
            Path next = Files.createTempFile(
                    folder,
                    "new",
                    "",
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
            Files.writeString(next, text);
            Files.move(next, path, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** In PEM; private keys as PKCS#1 or SEC 1. */
    public static String pem(Object object) {
        StringWriter text = new StringWriter();
        try (JcaPEMWriter writer = new JcaPEMWriter(text)) {
            writer.writeObject(
                    object instanceof KeyPair pair ? new JcaPKCS8Generator(pair.getPrivate(), null) : object);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        return text.toString();
    }

    public static KeyPair ecKeys() {
        return keys("EC", 256);
    }

    /**
     * New keys.
     *
     * @param bits of the modulus or of the curve
     */
    public static KeyPair keys(String algorithm, int bits) {
        try {
            KeyPairGenerator generator = KeyPairGenerator.getInstance(algorithm);
            generator.initialize(bits);
            return generator.generateKeyPair();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
