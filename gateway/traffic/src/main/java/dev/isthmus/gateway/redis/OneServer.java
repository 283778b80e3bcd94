package dev.isthmus.gateway.redis;

import dev.isthmus.gateway.settings.Endpoint;
import dev.isthmus.gateway.settings.SharedConfig;
import io.lettuce.core.RedisClient;
import io.lettuce.core.codec.StringCodec;
import java.util.concurrent.CompletionStage;

/** One server, which has a name or an address. */
final class OneServer implements RedisServers {
    private final Endpoint server;
    private final RedisClients clients;
    private final RedisClient client;

    OneServer(SharedConfig config, RedisClients clients) {
        this.server = config.server();
        this.clients = clients;
        this.client = clients.client();
    }

    @Override
    public CompletionStage<RedisLink> connect() {
        return client.connectAsync(StringCodec.UTF8, clients.address(server))
                .thenApply(connection -> new ServerLink(connection, server));
    }

    @Override
    public void close() {
        clients.shutDown(client);
    }
}
