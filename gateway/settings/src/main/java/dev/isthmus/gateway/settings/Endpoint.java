package dev.isthmus.gateway.settings;

import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.net.UnknownHostException;
import java.nio.file.Path;

/**
 * Host and port of a server, or the Unix socket of one of the gateway's own processes.
 *
 * @param host a name, an IPv4 address or an IPv6 address (without brackets); the absolute path of a Unix socket
 * @param port 1 to 65535; 0 for a Unix socket
 * @param isUnix whether it is a Unix socket: no text of a configuration or a server makes it one
 */
public record Endpoint(String host, int port, boolean isUnix) {

    public Endpoint {
        if (host.isEmpty()) {
            throw new IllegalArgumentException("the host of an endpoint must not be empty");
        }
        if (!isUnix && (port < 1 || port > 65535)) {
            throw new IllegalArgumentException("port " + port + " of '" + host + "' is not in 1..65535");
        }
    }

    public Endpoint(String host, int port) {
        this(host, port, false);
    }

    /** The endpoint at this Unix socket. */
    public static Endpoint unix(Path socket) {
        return new Endpoint(socket.toAbsolutePath().toString(), 0, true);
    }

    /** Whether it is the address of one server, not a name that has to be looked up. */
    public boolean literal() {
        return !(address() instanceof InetSocketAddress ip) || !ip.isUnresolved();
    }

    /** The socket address; unresolved if the host is a name, so that this never queries DNS. */
    public SocketAddress address() {
        if (isUnix) {
            return UnixDomainSocketAddress.of(host);
        }
        byte[] literal = NetUtil.createByteArrayFromIpAddressString(host);
        if (literal == null) {
            return InetSocketAddress.createUnresolved(host, port);
        }
        try {
            return new InetSocketAddress(InetAddress.getByAddress(host, literal), port);
        } catch (UnknownHostException e) {
            throw new IllegalStateException("an address of " + literal.length + " bytes", e);
        }
    }

    /** Host and port in the form of a {@code Host} header; {@code local} for a Unix socket, whose path says nothing. */
    public String authority() {
        if (isUnix) {
            return GatewayConfig.LOCAL;
        }
        return (NetUtil.isValidIpV6Address(host) ? "[" + host + "]" : host) + ":" + port;
    }
}
