package dev.isthmus.gateway.identity;

import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.JWSVerifier;
import com.nimbusds.jose.crypto.impl.BaseJWSProvider;
import com.nimbusds.jose.util.Base64URL;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.X509EncodedKeySpec;
import java.util.HexFormat;
import java.util.Set;

/** Ed25519 (RFC 8032) of the JDK. Nimbus has it only with a further library. */
final class Ed25519Verifier extends BaseJWSProvider implements JWSVerifier {
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
