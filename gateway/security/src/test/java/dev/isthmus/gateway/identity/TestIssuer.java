package dev.isthmus.gateway.identity;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.crypto.ECDSASigner;
import com.nimbusds.jose.crypto.MACSigner;
import com.nimbusds.jose.crypto.RSASSASigner;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.OctetKeyPair;
import com.nimbusds.jose.jwk.RSAKey;
import com.nimbusds.jose.jwk.gen.ECKeyGenerator;
import com.nimbusds.jose.jwk.gen.RSAKeyGenerator;
import com.nimbusds.jose.util.Base64URL;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.Signature;
import java.time.Instant;
import java.util.Arrays;
import java.util.Date;
import java.util.List;

/** Issues tokens. */
public final class TestIssuer {
    public static final String ISSUER = "https://issuer.example";
    public static final String AUDIENCE = "isthmus";

    public final RSAKey rsa;
    public final ECKey ec;
    private final ECKey p384;
    private final ECKey p521;
    private final KeyPair ed;
    private final OctetKeyPair edPublic;

    /** @param suffix of the ids of its keys */
    public TestIssuer(String suffix) {
        try {
            rsa = new RSAKeyGenerator(2048).keyID("rsa" + suffix).generate();
            ec = new ECKeyGenerator(Curve.P_256).keyID("ec" + suffix).generate();
            p384 = new ECKeyGenerator(Curve.P_384).keyID("p384" + suffix).generate();
            p521 = new ECKeyGenerator(Curve.P_521).keyID("p521" + suffix).generate();
            ed = KeyPairGenerator.getInstance("Ed25519").generateKeyPair();
            byte[] encoded = ed.getPublic().getEncoded();
            edPublic = new OctetKeyPair.Builder(
                            Curve.Ed25519, Base64URL.encode(Arrays.copyOfRange(encoded, 12, encoded.length)))
                    .keyID("ed" + suffix)
                    .build();
        } catch (JOSEException | GeneralSecurityException e) {
            throw new LinkageError("no keys", e);
        }
    }

    /** Its public keys. */
    public String keys() {
        return new JWKSet(List.<JWK>of(
                        rsa.toPublicJWK(), ec.toPublicJWK(), p384.toPublicJWK(), p521.toPublicJWK(), edPublic))
                .toString();
    }

    /** The claims of a valid token. */
    public static JWTClaimsSet.Builder claims(String subject) {
        return new JWTClaimsSet.Builder()
                .issuer(ISSUER)
                .audience(AUDIENCE)
                .subject(subject)
                .expirationTime(Date.from(Instant.now().plusSeconds(600)));
    }

    /** A token signed with RS256. */
    public String token(JWTClaimsSet claims) {
        return rs256(
                new JWSHeader.Builder(JWSAlgorithm.RS256).keyID(rsa.getKeyID()).build(), claims);
    }

    String rs256(JWSHeader header, JWTClaimsSet claims) {
        try {
            SignedJWT jwt = new SignedJWT(header, claims);
            jwt.sign(new RSASSASigner(rsa));
            return jwt.serialize();
        } catch (JOSEException e) {
            throw new LinkageError("not signed", e);
        }
    }

    String es256(JWTClaimsSet claims) throws JOSEException {
        return signed(JWSAlgorithm.ES256, claims);
    }

    /** Signed with any algorithm of RSA and EC keys. */
    String signed(JWSAlgorithm algorithm, JWTClaimsSet claims) throws JOSEException {
        JWK key = algorithm.equals(JWSAlgorithm.ES256)
                ? ec
                : algorithm.equals(JWSAlgorithm.ES384) ? p384 : algorithm.equals(JWSAlgorithm.ES512) ? p521 : rsa;
        SignedJWT jwt = new SignedJWT(
                new JWSHeader.Builder(algorithm).keyID(key.getKeyID()).build(), claims);
        jwt.sign(key instanceof ECKey curve ? new ECDSASigner(curve) : new RSASSASigner(rsa));
        return jwt.serialize();
    }

    /** Signed with the text of a public key as the secret: the confusion of algorithms. */
    String hs256(JWTClaimsSet claims) throws JOSEException {
        SignedJWT jwt = new SignedJWT(
                new JWSHeader.Builder(JWSAlgorithm.HS256).keyID(rsa.getKeyID()).build(), claims);
        jwt.sign(new MACSigner(rsa.toRSAPublicKey().getEncoded()));
        return jwt.serialize();
    }

    String eddsa(JWTClaimsSet claims) throws GeneralSecurityException {
        JWSHeader header = new JWSHeader.Builder(JWSAlgorithm.EdDSA)
                .keyID(edPublic.getKeyID())
                .build();
        String signed = header.toBase64URL() + "." + claims.toPayload().toBase64URL();
        Signature signature = Signature.getInstance("Ed25519");
        signature.initSign(ed.getPrivate());
        signature.update(signed.getBytes(StandardCharsets.US_ASCII));
        return signed + "." + Base64URL.encode(signature.sign());
    }
}
