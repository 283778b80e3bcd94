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
 * host chooses any address of its /64 network (RFC 4862), so that limits for single addresses would limit nothing. An
 * IPv6 address that stands for an IPv4 address is that one: all clients of IPv4 behind a translator with the well-known
 * prefix (RFC 6052, 2.1) would be one otherwise.
 */
public final class ClientNetwork {
    private static final int NETWORK_BYTES = 8;
    /** Of the prefixes that an IPv4 address follows. */
    private static final int PREFIX_BYTES = 12;

    private static final byte[] NAT64 = {0, 0x64, (byte) 0xff, (byte) 0x9b, 0, 0, 0, 0, 0, 0, 0, 0};
    private static final byte[] IPV4_MAPPED = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, (byte) 0xff, (byte) 0xff};

    private ClientNetwork() {}

    /** The address, or the first one of the network; null for a peer without an IP address. */
    public static @Nullable InetAddress of(@Nullable SocketAddress peer) {
        InetAddress address = peer instanceof InetSocketAddress inet ? inet.getAddress() : null;
        return address instanceof Inet6Address ipv6 ? network(ipv6.getAddress()) : address;
    }

    private static InetAddress network(byte[] bytes) {
        if (isPrefix(NAT64, bytes) || isPrefix(IPV4_MAPPED, bytes)) {
            return address(Arrays.copyOfRange(bytes, PREFIX_BYTES, bytes.length));
        }
        Arrays.fill(bytes, NETWORK_BYTES, bytes.length, (byte) 0);
        return address(bytes);
    }

    private static boolean isPrefix(byte[] prefix, byte[] address) {
        return Arrays.equals(prefix, 0, PREFIX_BYTES, address, 0, PREFIX_BYTES);
    }

    private static InetAddress address(byte[] bytes) {
        try {
            return InetAddress.getByAddress(bytes);
        } catch (UnknownHostException e) {
            throw new IllegalStateException("an IP address of 4 or 16 bytes is expected, got " + bytes.length, e);
        }
    }
}
