package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.upstream.Upstream;

/**
 * Requests a server's repository index; the reply receives one {@code ReplyMessage.Document}: an encoded
 * RepositoryIndexResponse.
 */
@FunctionalInterface
public interface IndexRequest {
    void send(Call call, Upstream server, Reply reply);
}
