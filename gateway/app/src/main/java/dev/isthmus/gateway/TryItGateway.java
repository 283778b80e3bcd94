package dev.isthmus.gateway;

import dev.isthmus.gateway.catalogue.Catalogue;
import dev.isthmus.gateway.settings.GatewayConfig;
import dev.isthmus.gateway.tryit.TryItPages;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import java.net.InetSocketAddress;
import java.util.List;

/** The running gateway, for those who try its models. */
record TryItGateway(Gateway gateway, EventLoopGroup loops) implements TryItPages.RunningGateway {
    @Override
    public GatewayConfig config() {
        return gateway.config();
    }

    @Override
    public Catalogue catalogue() {
        return gateway.catalogue();
    }

    @Override
    public List<InetSocketAddress> addresses() {
        return gateway.addresses();
    }

    @Override
    public EventLoop loop() {
        return loops.next();
    }
}
