package dev.isthmus.gateway.net;

import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.Socket;

/**
 * An address to listen on, and the plain words where it cannot be had.
 *
 * @param role what listens there: "listener", "admin"
 * @param otherPort how another port is chosen
 */
public record ListenAddress(String role, String host, int port, String otherPort) {

    /**
     * The socket address. May ask DNS, and blocks.
     *
     * @throws BindException when the host is a name without an address
     */
    public InetSocketAddress resolve() throws BindException {
        InetSocketAddress address = new InetSocketAddress(host, port);
        if (address.isUnresolved()) {
            throw new BindException(role + ": the host '" + host + "' cannot be resolved to an address");
        }
        return address;
    }

    /**
     * That it can be listened on, as far as can be said without accepting anything: a socket is bound to it and closed.
     *
     * @throws BindException when it cannot
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

    /** What to say where the address was not given by the system. */
    public BindException refused(Throwable cause) {
        BindException refused = new BindException(role + ": " + (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":"
                + port + " " + reason(String.valueOf(cause.getMessage())));
        refused.initCause(cause);
        return refused;
    }

    private String reason(String system) {
        if (system.contains("in use")) {
            return "is in use: something listens on this port already; stop it, or choose another port with "
                    + otherPort;
        }
        if (system.contains("assign requested address")) {
            return "cannot be listened on: this machine has no address " + host;
        }
        if (system.contains("Permission denied")) {
            return "cannot be listened on: this user may not take port " + port + "; choose another port with "
                    + otherPort;
        }
        return "cannot be listened on: " + system;
    }
}
