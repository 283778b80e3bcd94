package dev.isthmus.gateway.net;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.unix.DomainSocketAddress;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class ClientNetworkTest {
    private static @Nullable InetAddress of(String address) {
        return ClientNetwork.of(new InetSocketAddress(address, 1));
    }

    @Test
    void addressesOfIpv4_areClients() {
        assertThat(of("192.0.2.1")).isNotEqualTo(of("192.0.2.2")).isEqualTo(of("192.0.2.1"));
        assertThat(of("::ffff:192.0.2.1")).isEqualTo(of("192.0.2.1"));
    }

    /** Transports make such addresses of mapped ones; {@link InetAddress#getByAddress(byte[])} does not. */
    @Test
    void mappedAddress_isThatOfIpv4() throws Exception {
        byte[] mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1, (byte) 192, 0, 2, 1};
        Inet6Address address = Inet6Address.getByAddress("", mapped, 0);
        assertThat(ClientNetwork.of(new InetSocketAddress(address, 1))).isEqualTo(of("192.0.2.1"));
    }

    @Test
    void addressesBehindNat64_areThoseOfIpv4() {
        assertThat(of("64:ff9b::192.0.2.1")).isEqualTo(of("192.0.2.1")).isNotEqualTo(of("64:ff9b::192.0.2.2"));
        // Another prefix, of a /64 network like others.
        assertThat(of("64:ff9b:1::192.0.2.1")).isEqualTo(of("64:ff9b:1::192.0.2.2"));
        assertThat(of("64:ff9b::1:192.0.2.1")).isNotEqualTo(of("192.0.2.1"));
    }

    @Test
    void networksOfIpv6_areClients() {
        assertThat(of("2001:db8:0:1::1"))
                .isEqualTo(of("2001:db8:0:1:ffff:ffff:ffff:ffff"))
                .isNotEqualTo(of("2001:db8:0:2::1"))
                .isNotEqualTo(of("2001:db9:0:1::1"));
    }

    @Test
    void peersWithoutAddress_haveNone() {
        assertThat(ClientNetwork.of(null)).isNull();
        assertThat(ClientNetwork.of(new DomainSocketAddress("/socket"))).isNull();
        assertThat(ClientNetwork.of(InetSocketAddress.createUnresolved("host", 1)))
                .isNull();
    }
}
