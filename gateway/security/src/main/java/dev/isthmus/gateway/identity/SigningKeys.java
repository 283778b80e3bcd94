package dev.isthmus.gateway.identity;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.JWSVerifier;
import com.nimbusds.jose.crypto.ECDSAVerifier;
import com.nimbusds.jose.crypto.RSASSAVerifier;
import com.nimbusds.jose.crypto.impl.BaseJWSProvider;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.KeyUse;
import com.nimbusds.jose.jwk.OctetKeyPair;
import com.nimbusds.jose.jwk.RSAKey;
import com.nimbusds.jose.util.Base64URL;
import dev.isthmus.gateway.settings.ConfigException;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.X509EncodedKeySpec;
import java.text.ParseException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The public keys of an issuer that the gateway can use. Immutable. */
final class SigningKeys {
    private static final int MIN_RSA_BITS = 2048;
    private static final Set<Curve> CURVES = Set.of(Curve.P_256, Curve.P_384, Curve.P_521);
    /** How many keys are tried for a token that names none. */
    private static final int MAX_TRIED = 4;

    private final List<SigningKey> keys;

    /**
     * One key.
     *
     * @param id null if it has none
     */
    record SigningKey(@Nullable String id, Set<JWSAlgorithm> algorithms, JWSVerifier verifier) {}

    private SigningKeys(List<SigningKey> keys) {
        this.keys = List.copyOf(keys);
    }

    /**
     * Reads a JSON Web Key Set (RFC 7517). Keys of other kinds, or for other purposes, are left out.
     *
     * @param source for messages
     * @throws ConfigException if it is not one, or has no usable key
     */
    static SigningKeys parse(String source, String json) throws ConfigException {
        List<SigningKey> usable = new ArrayList<>();
        try {
            for (JWK key : JWKSet.parse(json).getKeys()) {
                SigningKey read = usable(key);
                if (read != null) {
                    usable.add(read);
                }
            }
        } catch (ParseException | JOSEException | GeneralSecurityException | RuntimeException e) {
            throw new ConfigException(List.of(source + ": not a JSON Web Key Set"));
        }
        if (usable.isEmpty()) {
            throw new ConfigException(
                    List.of(
                            source
                                    + ": no usable key: RSA of at least 2048 bits, EC P-256, P-384 or P-521, or OKP Ed25519, for signatures, is expected"));
        }
        return new SigningKeys(usable);
    }

    private static @Nullable SigningKey usable(JWK key) throws JOSEException, GeneralSecurityException {
        if (key.getKeyUse() != null && !key.getKeyUse().equals(KeyUse.SIGNATURE)) {
            return null;
        }
        JWSVerifier verifier = switch (key) {
            case RSAKey rsa when rsa.size() >= MIN_RSA_BITS -> new RSASSAVerifier(rsa.toRSAPublicKey());
            case ECKey ec when CURVES.contains(ec.getCurve()) -> new ECDSAVerifier(ec.toECPublicKey());
            case OctetKeyPair okp when Curve.Ed25519.equals(okp.getCurve()) -> new Ed25519Verifier(okp.getDecodedX());
            default -> null;
        };
        if (verifier == null) {
            return null;
        }
        Set<JWSAlgorithm> algorithms = new HashSet<>(verifier.supportedJWSAlgorithms());
        if (key.getAlgorithm() != null) {
            algorithms.removeIf(each -> !each.equals(key.getAlgorithm()));
        }
        return algorithms.isEmpty() ? null : new SigningKey(key.getKeyID(), Set.copyOf(algorithms), verifier);
    }

    /** The keys that may have signed a token with this key id; null if it has none. */
    List<SigningKey> candidates(@Nullable String id, JWSAlgorithm algorithm) {
        return keys.stream()
                .filter(key -> key.algorithms().contains(algorithm) && (id == null || id.equals(key.id())))
                .limit(MAX_TRIED)
                .toList();
    }

    /** Ed25519 (RFC 8032) of the JDK. Nimbus has it only with a further library. */
    static final class Ed25519Verifier extends BaseJWSProvider implements JWSVerifier {
        private static final String NAME = "Ed25519";
        /** The start of a SubjectPublicKeyInfo (RFC 8410, 4), which the 32 bytes of the key follow. */
        private static final byte[] HEAD = HexFormat.of().parseHex("302a300506032b6570032100");

        private static final int KEY_BYTES = 32;

        private final PublicKey key;

        /** @param x the public key */
        Ed25519Verifier(byte[] x) throws GeneralSecurityException {
            super(Set.of(JWSAlgorithm.EdDSA));
            if (x.length != KEY_BYTES) {
                throw new GeneralSecurityException("an Ed25519 key has 32 bytes");
            }
            byte[] encoded = new byte[HEAD.length + KEY_BYTES];
            System.arraycopy(HEAD, 0, encoded, 0, HEAD.length);
            System.arraycopy(x, 0, encoded, HEAD.length, KEY_BYTES);
            key = KeyFactory.getInstance(NAME).generatePublic(new X509EncodedKeySpec(encoded));
        }

        @Override
        public boolean verify(JWSHeader header, byte[] signed, Base64URL signature) {
            try {
                Signature check = Signature.getInstance(NAME);
                check.initVerify(key);
                check.update(signed);
                return check.verify(signature.decode());
            } catch (GeneralSecurityException e) {
                // A signature of the wrong form.
                return false;
            }
        }
    }
}
