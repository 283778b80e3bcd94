package dev.isthmus.gateway.settings;

import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;

/**
 * Host and port of a server.
 *
 * @param host a name, an IPv4 address or an IPv6 address (without brackets)
 * @param port 1 to 65535
 */
public record Endpoint(String host, int port) {

    public Endpoint {
        if (host.isEmpty()) {
            throw new IllegalArgumentException("the host of an endpoint must not be empty");
        }
        if (port < 1 || port > 65535) {
            throw new IllegalArgumentException("port " + port + " of '" + host + "' is not in 1..65535");
        }
    }

    /** The socket address; unresolved if the host is a name, so that this never queries DNS. */
    public InetSocketAddress address() {
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

    /** Host and port in the form of a {@code Host} header. */
    public String authority() {
        return (NetUtil.isValidIpV6Address(host) ? "[" + host + "]" : host) + ":" + port;
    }
}
