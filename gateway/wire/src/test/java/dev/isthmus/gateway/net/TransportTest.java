package dev.isthmus.gateway.net;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.MultiThreadIoEventLoopGroup;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class TransportTest {

    @ParameterizedTest
    @EnumSource(Transport.class)
    void loop_isKnownByItsTransport(Transport transport) {
        var group = new MultiThreadIoEventLoopGroup(1, transport.ioHandlerFactory());
        try {
            assertThat(Transport.of(group.next())).isEqualTo(transport);
        } finally {
            group.shutdownGracefully(0, 0, TimeUnit.SECONDS).awaitUninterruptibly();
        }
    }
}
