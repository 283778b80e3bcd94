package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.settings.AddressRange;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The proxies in front of a listener.
 *
 * @param ranges their addresses
 * @param proxyProtocol whether connections start with a PROXY protocol header
 */
public record TrustedProxies(List<AddressRange> ranges, boolean proxyProtocol) {
    /** Clients connect directly. */
    public static final TrustedProxies NONE = new TrustedProxies(List.of(), false);

    public TrustedProxies {
        ranges = List.copyOf(ranges);
    }

    /** Whether this address is one of theirs. */
    boolean trusts(@Nullable SocketAddress peer) {
        return !ranges.isEmpty() && peer instanceof InetSocketAddress inet && trusts(inet.getAddress());
    }

    boolean trusts(InetAddress address) {
        for (AddressRange range : ranges) {
            if (range.contains(address)) {
                return true;
            }
        }
        return false;
    }
}
