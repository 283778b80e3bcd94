package dev.isthmus.gateway.admin;

import dev.isthmus.gateway.identity.OidcLogin;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import javax.crypto.AEADBadTagException;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * What is known of a login at a provider, in a cookie of its browser: encrypted and authenticated (AES-256-GCM, NIST SP
 * 800-38D) with a key that only this process has. So the gateway keeps nothing of logins that have begun, however many
 * there are. Thread-safe.
 */
final class LoginCookie {
    static final String NAME = "isthmus-login";
    /** For how long a login may take. */
    static final long SECONDS = TimeUnit.MINUTES.toSeconds(10);

    private static final String ALGORITHM = "AES/GCM/NoPadding";
    private static final int KEY_BYTES = 32;
    private static final int NONCE_BYTES = 12;
    private static final int TAG_BITS = 128;

    private final SecureRandom random;
    private final LongSupplier nanoTime;
    private final SecretKeySpec key;

    /**
     * With a new key: cookies of another process are not accepted.
     *
     * @param nanoTime on the scale of {@link System#nanoTime()}
     */
    LoginCookie(SecureRandom random, LongSupplier nanoTime) {
        this.random = random;
        this.nanoTime = nanoTime;
        byte[] bytes = new byte[KEY_BYTES];
        random.nextBytes(bytes);
        this.key = new SecretKeySpec(bytes, "AES");
    }

    /** The cookie's value for a login that begins now. */
    String value(OidcLogin login) {
        byte[] nonce = new byte[NONCE_BYTES];
        random.nextBytes(nonce);
        ByteArrayOutputStream sealed = new ByteArrayOutputStream();
        sealed.writeBytes(nonce);
        try {
            sealed.writeBytes(cipher(Cipher.ENCRYPT_MODE, nonce).doFinal(plain(login)));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java has AES/GCM", e);
        }
        return Base64.getUrlEncoder().withoutPadding().encodeToString(sealed.toByteArray());
    }

    private Cipher cipher(int mode, byte[] nonce) throws GeneralSecurityException {
        Cipher cipher = Cipher.getInstance(ALGORITHM);
        cipher.init(mode, key, new GCMParameterSpec(TAG_BITS, nonce));
        return cipher;
    }

    private byte[] plain(OidcLogin login) {
        ByteArrayOutputStream plain = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(plain)) {
            out.writeLong(nanoTime.getAsLong());
            out.writeUTF(login.state());
            out.writeUTF(login.nonce());
            out.writeUTF(login.verifier());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return plain.toByteArray();
    }

    /** The login of a cookie; null if this process has not made the cookie, or the login has taken too long. */
    @Nullable
    OidcLogin login(@Nullable String value) {
        byte[] sealed = value == null ? null : decoded(value);
        if (sealed == null || sealed.length < NONCE_BYTES + TAG_BITS / 8) {
            return null;
        }
        byte[] nonce = new byte[NONCE_BYTES];
        System.arraycopy(sealed, 0, nonce, 0, NONCE_BYTES);
        byte[] plain;
        try {
            plain = cipher(Cipher.DECRYPT_MODE, nonce).doFinal(sealed, NONCE_BYTES, sealed.length - NONCE_BYTES);
        } catch (AEADBadTagException forged) {
            return null;
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java has AES/GCM", e);
        }
        return read(plain);
    }

    private static byte @Nullable [] decoded(String value) {
        try {
            return Base64.getUrlDecoder().decode(value);
        } catch (IllegalArgumentException notBase64) {
            return null;
        }
    }

    private @Nullable OidcLogin read(byte[] plain) {
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(plain))) {
            long age = nanoTime.getAsLong() - in.readLong();
            OidcLogin login = new OidcLogin(in.readUTF(), in.readUTF(), in.readUTF());
            return age > TimeUnit.SECONDS.toNanos(SECONDS) ? null : login;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
