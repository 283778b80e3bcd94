package dev.isthmus.gateway.settings;

import io.netty.util.NetUtil;
import java.math.BigInteger;
import java.net.InetAddress;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A range of IP addresses: those that share a prefix, as CIDR notation writes it. */
public final class AddressRange {
    private final InetAddress first;
    private final int bits;
    /** The bits behind the prefix. */
    private final int hostBits;

    private final BigInteger prefix;

    private AddressRange(InetAddress first, int hostBits) {
        this.first = first;
        this.bits = first.getAddress().length * Byte.SIZE;
        this.hostBits = hostBits;
        this.prefix = prefix(first);
    }

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
        int most = first.getAddress().length * Byte.SIZE;
        String length = slash < 0 ? Integer.toString(most) : text.substring(slash + 1);
        if (!length.matches("[0-9]|[1-9][0-9]{1,2}") || Integer.parseInt(length) > most) {
            return null;
        }
        AddressRange range = new AddressRange(first, most - Integer.parseInt(length));
        boolean beyond = !range.prefix.shiftLeft(range.hostBits).equals(new BigInteger(1, first.getAddress()));
        return beyond ? null : range;
    }

    private BigInteger prefix(InetAddress address) {
        return new BigInteger(1, address.getAddress()).shiftRight(hostBits);
    }

    /** Whether the address is in the range. An IPv4-mapped IPv6 address is an IPv4 address. */
    public boolean contains(InetAddress address) {
        return address.getAddress().length * Byte.SIZE == bits
                && prefix(address).equals(prefix);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof AddressRange range && first.equals(range.first) && hostBits == range.hostBits;
    }

    @Override
    public int hashCode() {
        return Objects.hash(first, hostBits);
    }

    @Override
    public String toString() {
        String address = NetUtil.toAddressString(first);
        return hostBits == 0 ? address : address + "/" + (bits - hostBits);
    }
}
