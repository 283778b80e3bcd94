package dev.isthmus.gateway.catalogue;

import dev.isthmus.gateway.call.Call;
import dev.isthmus.gateway.call.Reply;
import dev.isthmus.gateway.upstream.Upstream;

/** Asks a server for its repository index; the reply gets one {@code Answer.Document}: an encoded RepositoryIndexResponse. */
@FunctionalInterface
public interface IndexQuestion {
    void ask(Call call, Upstream server, Reply reply);
}
