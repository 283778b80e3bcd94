package dev.isthmus.gateway.ingress;

import dev.isthmus.gateway.call.ClientConnection;
import dev.isthmus.gateway.settings.HeaderAllowList;
import io.netty.util.AsciiString;
import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The headers in which proxies name the client: X-Forwarded-* and Forwarded (RFC 7239). Those of a client that is no
 * trusted proxy are ignored, as it may write anything there.
 */
final class ForwardingHeaders {
    private static final AsciiString FOR = AsciiString.cached("x-forwarded-for");
    private static final String PROTO = "x-forwarded-proto";
    private static final AsciiString FORWARDED = AsciiString.cached("forwarded");
    private static final String PREFIX = "x-forwarded-";
    private static final String REAL_IP = "x-real-ip";
    private static final int UNKNOWN_PORT = 0;

    private ForwardingHeaders() {}

    /** Whether a field of this lower-case name says something of the client. */
    static boolean contains(String name) {
        return name.startsWith(PREFIX) || name.contentEquals(FORWARDED) || name.equals(REAL_IP);
    }

    /**
     * The client of a request of a trusted proxy: the last address that is not itself a trusted proxy's, the first one
     * if all are. X-Forwarded-For counts; Forwarded does if there is none. What precedes an entry that is no address
     * does not count.
     *
     * @return null if the headers name no address; the port is 0
     */
    static @Nullable InetSocketAddress client(RequestHead head, TrustedProxies proxies) {
        List<String> fields = head.all(FOR);
        boolean standard = fields.isEmpty();
        String list = String.join(",", standard ? head.all(FORWARDED) : fields);
        InetAddress client = null;
        int end = list.length();
        while (end > 0) {
            int comma = list.lastIndexOf(',', end - 1);
            String element = list.substring(comma + 1, end).strip();
            InetAddress hop = address(standard ? forParameter(element) : element);
            if (hop == null) {
                break;
            }
            client = hop;
            if (!proxies.trusts(hop)) {
                break;
            }
            end = comma;
        }
        return client == null ? null : new InetSocketAddress(client, UNKNOWN_PORT);
    }

    /** The value of {@code for} in an element of Forwarded; empty if there is none. */
    private static String forParameter(String element) {
        for (String parameter : element.split(";", -1)) {
            int equals = parameter.indexOf('=');
            if (equals > 0
                    && parameter
                            .substring(0, equals)
                            .strip()
                            .toLowerCase(Locale.ROOT)
                            .equals("for")) {
                return parameter.substring(equals + 1).strip().replace("\"", "");
            }
        }
        return "";
    }

    /** An address with or without a port: {@code 192.0.2.1:80}, {@code [2001:db8::1]:80}, {@code 2001:db8::1}. */
    private static @Nullable InetAddress address(String node) {
        String address = node;
        if (node.startsWith("[")) {
            int close = node.indexOf(']');
            address = close < 0 ? "" : node.substring(1, close);
        } else if (node.indexOf(':') >= 0 && node.indexOf(':') == node.lastIndexOf(':')) {
            address = node.substring(0, node.indexOf(':'));
        }
        return NetUtil.createInetAddressFromIpAddressString(address);
    }

    /** Whether the header is forwarded by its name, or as one of X-Forwarded-*. */
    private static boolean asked(HeaderAllowList allowed, String name) {
        if (allowed.exact().contains(name)) {
            return true;
        }
        for (String prefix : allowed.prefixes()) {
            if (prefix.startsWith(PREFIX) && name.startsWith(prefix)) {
                return true;
            }
        }
        return false;
    }

    /**
     * Adds the sender of a request to those headers that are forwarded upstream by their name, or as X-Forwarded-*. A
     * prefix that merely covers them, such as {@code x-*}, does not tell servers of clients' addresses.
     */
    static void add(Map<String, String> forwarded, HeaderAllowList allowed, ClientConnection connection) {
        String scheme = connection.tls() == null ? "http" : "https";
        boolean asksFor = asked(allowed, FOR.toString());
        boolean asksForwarded = asked(allowed, FORWARDED.toString());
        if ((asksFor || asksForwarded) && connection.peer() instanceof InetSocketAddress peer) {
            String address = NetUtil.toAddressString(peer.getAddress());
            if (asksFor) {
                forwarded.merge(FOR.toString(), address, (hops, last) -> hops + ", " + last);
            }
            if (asksForwarded) {
                String node = address.indexOf(':') < 0 ? address : "\"[" + address + "]\"";
                forwarded.merge(
                        FORWARDED.toString(), "for=" + node + ";proto=" + scheme, (hops, last) -> hops + ", " + last);
            }
        }
        if (asked(allowed, PROTO)) {
            forwarded.putIfAbsent(PROTO, scheme);
        }
    }
}
