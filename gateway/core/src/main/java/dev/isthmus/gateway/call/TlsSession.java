package dev.isthmus.gateway.call;

import org.jspecify.annotations.Nullable;

/**
 * What client and gateway agreed on in a TLS handshake.
 *
 * @param protocol the version, as {@code TLSv1.3}
 * @param cipher the cipher suite, as {@code TLS_AES_128_GCM_SHA256}
 * @param host the host name that the client asked for (SNI), in lower case; null if it sent none
 * @param certificate the client's certificate, verified against the listener's CA; null if it sent none
 */
public record TlsSession(
        String protocol,
        String cipher,
        @Nullable String host,
        @Nullable ClientCertificate certificate) {}
