package dev.isthmus.gateway.fleet;

import dev.isthmus.gateway.call.Call;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** Chooses the candidates in turn. */
final class RoundRobin implements Balancer {
    private final AtomicInteger next = new AtomicInteger();

    @Override
    public Replica choose(List<Replica> candidates, Call call, long now) {
        return candidates.get(Math.floorMod(next.getAndIncrement(), candidates.size()));
    }
}
