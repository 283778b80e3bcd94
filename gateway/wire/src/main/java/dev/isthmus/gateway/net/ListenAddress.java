package dev.isthmus.gateway.net;

import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.Socket;

/**
 * An address to listen on, with the error message if binding to it fails.
 *
 * @param role what listens there: "listener", "admin"
 * @param otherPort the setting that selects another port, for error messages
 */
public record ListenAddress(String role, String host, int port, String otherPort) {

    /**
     * The socket address. Blocks: may query DNS.
     *
     * @throws BindException if the host cannot be resolved
     */
    public InetSocketAddress resolve() throws BindException {
        InetSocketAddress address = new InetSocketAddress(host, port);
        if (address.isUnresolved()) {
            throw new BindException(role + ": the host '" + host + "' cannot be resolved to an address");
        }
        return address;
    }

    /**
     * Checks that the address can be bound, by binding a socket and closing it.
     *
     * @throws BindException if it cannot
     */
    public void check() throws BindException {
        InetSocketAddress address = resolve();
        try (Socket socket = new Socket()) {
            socket.setReuseAddress(true);
            socket.bind(address);
        } catch (IOException e) {
            throw refused(e);
        }
    }

    /** The exception for a failed bind, with a message for operators. */
    public BindException refused(Throwable cause) {
        BindException refused = new BindException(role + ": " + (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":"
                + port + " " + reason(String.valueOf(cause.getMessage())));
        refused.initCause(cause);
        return refused;
    }

    private String reason(String system) {
        if (system.contains("in use")) {
            return "is in use: another process listens on this port; stop it, or choose another port with " + otherPort;
        }
        if (system.contains("assign requested address")) {
            return "cannot be listened on: this machine has no address " + host;
        }
        if (system.contains("Permission denied")) {
            return "cannot be listened on: this user may not bind port " + port + "; choose another port with "
                    + otherPort;
        }
        return "cannot be listened on: " + system;
    }
}
