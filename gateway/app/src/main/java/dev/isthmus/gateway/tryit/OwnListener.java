package dev.isthmus.gateway.tryit;

import dev.isthmus.gateway.settings.Listener;
import dev.isthmus.gateway.settings.ListenerTls;
import dev.isthmus.gateway.settings.ListenerTls.ClientCertificateMode;
import dev.isthmus.gateway.settings.TlsFileException;
import dev.isthmus.gateway.settings.TlsFiles;
import dev.isthmus.oip.ErrorCode;
import dev.isthmus.oip.OipException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Path;
import java.security.cert.CertificateParsingException;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A listener of this gateway that the gateway can call itself.
 *
 * @param certificate its certificate, which is trusted because it is its own; null for plain text
 */
record OwnListener(
        Listener settings,
        InetSocketAddress address,
        @Nullable Path certificate) {
    private static final Pattern HOST = Pattern.compile("[A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+]");
    private static final int DNS = 2;
    private static final int IP_ADDRESS = 7;

    /**
     * The first listener for plain text, or else the first one with TLS.
     *
     * @param bound in the order of the settings
     * @throws OipException UNAVAILABLE if there is none that takes connections of clients without a certificate
     */
    static OwnListener first(List<Listener> listeners, List<InetSocketAddress> bound) {
        Optional<OwnListener> secured = Optional.empty();
        for (int i = 0; i < Math.min(listeners.size(), bound.size()); i++) {
            Listener each = listeners.get(i);
            ListenerTls tls = each.tls();
            if (each.proxyProtocol()) {
                continue;
            }
            if (tls == null) {
                return new OwnListener(each, bound.get(i), null);
            }
            if (secured.isEmpty() && tls.clientCertificates().mode() != ClientCertificateMode.REQUIRED) {
                Path certificate = tls.certificates().getFirst().certificate();
                secured = Optional.of(new OwnListener(each, bound.get(i), certificate));
            }
        }
        return secured.orElseThrow(() -> new OipException(
                ErrorCode.UNAVAILABLE,
                "no listener takes connections without the PROXY protocol and without a client certificate"));
    }

    boolean secure() {
        return certificate != null;
    }

    /** Where the gateway reaches it. */
    URI loopback() {
        InetAddress host = address.getAddress();
        return url(
                host.isAnyLocalAddress() ? InetAddress.getLoopbackAddress().getHostAddress() : host.getHostAddress());
    }

    /**
     * Where a client probably reaches it.
     *
     * @param host by which the client knows this machine
     */
    URI from(String host) {
        return address.getAddress().isAnyLocalAddress() && HOST.matcher(host).matches() ? url(host) : loopback();
    }

    private URI url(String host) {
        String name = host.indexOf(':') >= 0 && !host.startsWith("[") ? "[" + host + "]" : host;
        return URI.create((secure() ? "https://" : "http://") + name + ":" + address.getPort());
    }

    /**
     * A name that its certificate has; null for plain text. Reads a file.
     *
     * @throws OipException UNAVAILABLE if the certificate has none, or cannot be read
     */
    @Nullable
    String certifiedName() {
        if (certificate == null) {
            return null;
        }
        try {
            Collection<List<?>> names =
                    TlsFiles.certificates(certificate).getFirst().getSubjectAlternativeNames();
            for (List<?> name : names == null ? List.<List<?>>of() : names) {
                if (name.get(0).equals(DNS) || name.get(0).equals(IP_ADDRESS)) {
                    return ((String) name.get(1)).replace("*", "www");
                }
            }
        } catch (TlsFileException | CertificateParsingException e) {
            throw new OipException(ErrorCode.UNAVAILABLE, "the listener's certificate cannot be read", e);
        }
        throw new OipException(ErrorCode.UNAVAILABLE, "the listener's certificate has no host name");
    }
}
