package dev.isthmus.gateway.settings;

import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A range of IP addresses: those that share a prefix, as CIDR notation writes it. */
public final class AddressRange {
    private final InetAddress first;
    private final int prefixBits;
    private final byte[] bytes;

    private AddressRange(InetAddress first, int prefixBits) {
        this.first = first;
        this.prefixBits = prefixBits;
        this.bytes = first.getAddress();
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
        String bits = slash < 0 ? Integer.toString(most) : text.substring(slash + 1);
        if (!bits.matches("[0-9]|[1-9][0-9]{1,2}") || Integer.parseInt(bits) > most) {
            return null;
        }
        AddressRange range = new AddressRange(first, Integer.parseInt(bits));
        return range.hasHostBits() ? null : range;
    }

    private boolean hasHostBits() {
        for (int bit = prefixBits; bit < bytes.length * Byte.SIZE; bit++) {
            if ((bytes[bit / Byte.SIZE] & mask(bit)) != 0) {
                return true;
            }
        }
        return false;
    }

    private static int mask(int bit) {
        return 0x80 >> (bit % Byte.SIZE);
    }

    /** Whether the address is in the range. An IPv4-mapped IPv6 address is an IPv4 address. */
    public boolean contains(InetAddress address) {
        byte[] other = address.getAddress();
        if (other.length != bytes.length) {
            return false;
        }
        int whole = prefixBits / Byte.SIZE;
        if (!Arrays.equals(bytes, 0, whole, other, 0, whole)) {
            return false;
        }
        for (int bit = whole * Byte.SIZE; bit < prefixBits; bit++) {
            if (((bytes[bit / Byte.SIZE] ^ other[bit / Byte.SIZE]) & mask(bit)) != 0) {
                return false;
            }
        }
        return true;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof AddressRange range && first.equals(range.first) && prefixBits == range.prefixBits;
    }

    @Override
    public int hashCode() {
        return Objects.hash(first, prefixBits);
    }

    @Override
    public String toString() {
        String address = NetUtil.toAddressString(first);
        return prefixBits == bytes.length * Byte.SIZE ? address : address + "/" + prefixBits;
    }
}
