package dev.isthmus.bench.attack;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Valid requests to a misbehaving server, from eight clients. Each request has a unique id.
 *
 * @param model served by that server
 * @param ids the first id; attacks use different ids, so that the server can count them
 * @param all200 whether every response must be 200
 */
public record BadServer(String name, String model, int ids, int requests, boolean all200) implements Attack {
    public static final int CLIENTS = 8;

    @Override
    public boolean clientSide() {
        return false;
    }

    @Override
    public AttackResult play(AttackTarget target) throws InterruptedException {
        int count = Math.max(CLIENTS, target.connections(requests));
        AtomicInteger next = new AtomicInteger(ids);
        Map<String, Integer> ends = new ConcurrentHashMap<>();
        List<Thread> clients = new ArrayList<>();
        for (int i = 0; i < CLIENTS; i++) {
            clients.add(Thread.ofPlatform().daemon().start(() -> ask(target, next, ids + count, ends)));
        }
        for (Thread client : clients) {
            client.join();
        }
        AttackResult.Counts counts = new AttackResult.Counts();
        ends.forEach(counts::add);
        return counts.seen(!all200 || counts.of("200") == count);
    }

    private void ask(AttackTarget target, AtomicInteger next, int end, Map<String, Integer> ends) {
        for (int id = next.getAndIncrement(); id < end; id = next.getAndIncrement()) {
            ends.merge(once(target.port(), id), 1, Integer::sum);
        }
    }

    private String once(int port, int id) {
        try {
            return Rest.post(port, "/v2/models/" + model + "/infer", Messages.json(Integer.toString(id)), 0);
        } catch (IOException e) {
            return "reset";
        }
    }
}
