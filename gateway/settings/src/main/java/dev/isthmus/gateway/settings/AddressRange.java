package dev.isthmus.gateway.settings;

import io.netty.util.NetUtil;
import java.math.BigInteger;
import java.net.InetAddress;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** A range of IP addresses: those that share a prefix, as CIDR notation writes it. */
public record AddressRange(InetAddress first, int prefixBits) {

    /**
     * Parses {@code 10.0.0.0/8}, {@code fd00::/8}, or a single address.
     *
     * @return null for anything else, also for a range whose address has bits beyond the prefix
     */
    public static @Nullable AddressRange parse(String text) {
        int slash = text.indexOf('/');
        String address = slash < 0 ? text : text.substring(0, slash);
        InetAddress first = NetUtil.createInetAddressFromIpAddressString(address);
        if (first == null || address.indexOf('%') >= 0 || address.indexOf('[') >= 0) {
            return null;
        }
        int most = bits(first);
        String prefix = slash < 0 ? Integer.toString(most) : text.substring(slash + 1);
        if (!prefix.matches("[0-9]|[1-9][0-9]{1,2}") || Integer.parseInt(prefix) > most) {
            return null;
        }
        BigInteger number = new BigInteger(1, first.getAddress());
        boolean aligned = number.signum() == 0 || number.getLowestSetBit() >= most - Integer.parseInt(prefix);
        return aligned ? new AddressRange(first, Integer.parseInt(prefix)) : null;
    }

    private static int bits(InetAddress address) {
        return address.getAddress().length * Byte.SIZE;
    }

    /** Whether the address is in the range. An IPv4-mapped IPv6 address is an IPv4 address. */
    public boolean contains(InetAddress address) {
        byte[] mine = first.getAddress();
        byte[] other = address.getAddress();
        int at = Arrays.mismatch(mine, other);
        return mine.length == other.length
                && (at < 0
                        || at * Byte.SIZE + Integer.numberOfLeadingZeros((mine[at] ^ other[at]) << 24) >= prefixBits);
    }

    @Override
    public String toString() {
        String address = NetUtil.toAddressString(first);
        return prefixBits == bits(first) ? address : address + "/" + prefixBits;
    }
}
