package dev.isthmus.gateway.net;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * What counts as one client where clients are told apart by their addresses: an IPv4 address, or a /64 network of IPv6. A
 * host chooses any address of its /64 network (RFC 4862), so that limits for single addresses would limit nothing.
 */
public final class ClientNetwork {
    private static final int NETWORK_BYTES = 8;

    private ClientNetwork() {}

    /** The address, or the first one of the network; null for a peer without an IP address. */
    public static @Nullable InetAddress of(@Nullable SocketAddress peer) {
        InetAddress address = peer instanceof InetSocketAddress inet ? inet.getAddress() : null;
        return address instanceof Inet6Address ipv6 ? firstOfNetwork(ipv6) : address;
    }

    private static InetAddress firstOfNetwork(Inet6Address address) {
        byte[] bytes = address.getAddress();
        Arrays.fill(bytes, NETWORK_BYTES, bytes.length, (byte) 0);
        try {
            return InetAddress.getByAddress(bytes);
        } catch (UnknownHostException e) {
            throw new IllegalStateException("an IPv6 address of 16 bytes is expected, got " + bytes.length, e);
        }
    }
}
