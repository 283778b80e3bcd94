package dev.isthmus.gateway.queue;

import static org.assertj.core.api.Assertions.assertThat;

import dev.isthmus.gateway.queue.FairQueue.QueuedEntry;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FairQueueTest {
    private static final Map<String, Integer> NO_SHARES = Map.of();

    /** What waits, in these tests. */
    private record Item(String caller, String model, int number) {}

    private static FairQueue<Item> queue() {
        return new FairQueue<>(NO_SHARES);
    }

    private static QueuedEntry<Item> add(FairQueue<Item> queue, String caller, int weight, int number) {
        return queue.add(new Item(caller, "m", number), caller, weight, "m", 0);
    }

    private static Item next(FairQueue<Item> queue) {
        Item next = queue.poll(any -> true);
        assertThat(next).isNotNull();
        return java.util.Objects.requireNonNull(next);
    }

    private static String callers(FairQueue<Item> queue) {
        StringBuilder order = new StringBuilder();
        while (!queue.isEmpty()) {
            order.append(next(queue).caller());
        }
        return order.toString();
    }

    @Test
    void callersTakeTurns_howeverManyCallsTheyHave() {
        FairQueue<Item> queue = queue();
        for (int i = 0; i < 6; i++) {
            add(queue, "a", 1, i);
        }
        add(queue, "b", 1, 0);
        add(queue, "b", 1, 1);

        assertThat(callers(queue)).isEqualTo("ababaaaa");
    }

    @Test
    void aCallerThatComes_isBehindOneCallOfEachOther() {
        FairQueue<Item> queue = queue();
        for (int i = 0; i < 100; i++) {
            add(queue, "a", 1, i);
        }
        for (int i = 0; i < 50; i++) {
            assertThat(next(queue).caller()).isEqualTo("a");
        }
        add(queue, "b", 1, 0);

        assertThat(next(queue).caller()).isEqualTo("a");
        assertThat(next(queue).caller()).isEqualTo("b");
    }

    @Test
    void aCallerThatLeavesAndComesBack_gainsNothing() {
        FairQueue<Item> queue = queue();
        add(queue, "b", 1, 0);
        add(queue, "b", 1, 1);
        add(queue, "a", 1, 0);
        assertThat(next(queue).caller()).isEqualTo("b");
        assertThat(next(queue).caller()).isEqualTo("a");
        add(queue, "a", 1, 1);

        assertThat(next(queue).caller()).isEqualTo("b");
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5})
    void backloggedCallers_areServedByTheirWeights(long seed) {
        Random random = new Random(seed);
        FairQueue<Item> queue = queue();
        int callers = 2 + random.nextInt(6);
        int[] weights = random.ints(callers, 1, 11).toArray();
        int total = 0;
        for (int caller = 0; caller < callers; caller++) {
            total += weights[caller];
            add(queue, "c" + caller, weights[caller], 0);
        }
        Map<String, Integer> served = new HashMap<>();
        int rounds = 50 * total;
        for (int i = 0; i < rounds; i++) {
            Item next = next(queue);
            served.merge(next.caller(), 1, Integer::sum);
            int caller = Integer.parseInt(next.caller().substring(1));
            // Comes back after it has left, or before.
            add(queue, next.caller(), weights[caller], i);
            if (random.nextInt(3) == 0 && queue.waitingOf(next.caller()) < 4) {
                add(queue, next.caller(), weights[caller], i);
            }
        }
        for (int caller = 0; caller < callers; caller++) {
            double fair = (double) rounds * weights[caller] / total;
            assertThat((double) served.getOrDefault("c" + caller, 0)).isBetween(fair - callers, fair + callers);
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void withCallsLeft_theServiceIsExactToOneCall(long seed) {
        Random random = new Random(seed);
        FairQueue<Item> queue = queue();
        int[] weights = random.ints(5, 1, 11).toArray();
        int total = java.util.Arrays.stream(weights).sum();
        for (int caller = 0; caller < 5; caller++) {
            for (int i = 0; i < 40 * weights[caller]; i++) {
                add(queue, "c" + caller, weights[caller], i);
            }
        }
        int[] served = new int[5];
        for (int i = 1; i <= 40 * total; i++) {
            served[Integer.parseInt(next(queue).caller().substring(1))]++;
            for (int caller = 0; caller < 5; caller++) {
                double fair = (double) i * weights[caller] / total;
                assertThat((double) served[caller]).isBetween(fair - 5, fair + 5);
            }
        }
        assertThat(queue.isEmpty()).isTrue();
    }

    @Test
    void modelsAreServedByTheirShares_andTheOthersHaveOneTogether() {
        FairQueue<Item> queue = new FairQueue<>(Map.of("big", 3));
        for (int i = 0; i < 40; i++) {
            for (String model : List.of("big", "x", "y")) {
                queue.add(new Item("a", model, i), "a", 1, model, 0);
            }
        }
        Map<String, Integer> served = new HashMap<>();
        for (int i = 0; i < 40; i++) {
            served.merge(next(queue).model(), 1, Integer::sum);
        }
        assertThat(served).containsEntry("big", 30).containsEntry("x", 5).containsEntry("y", 5);
    }

    @Test
    void nobodyStarves_howeverManyNewCallersCome() {
        FairQueue<Item> queue = queue();
        for (int i = 0; i < 10; i++) {
            add(queue, "n" + i, 1, 0);
        }
        add(queue, "old", 1, 0);
        add(queue, "old", 1, 1);
        int turns = 0;
        for (int i = 10; queue.waitingOf("old") > 0; i++) {
            next(queue);
            add(queue, "n" + i, 1, 0);
            turns++;
            assertThat(turns).isLessThan(30);
        }
    }

    @Test
    void withinACaller_theLowestRankIsNext_thenTheFirst() {
        FairQueue<Item> queue = queue();
        long wrapped = Long.MAX_VALUE;
        queue.add(new Item("a", "m", 2), "a", 1, "m", wrapped + 5);
        queue.add(new Item("a", "m", 0), "a", 1, "m", wrapped);
        queue.add(new Item("a", "m", 3), "a", 1, "m", wrapped + 5);
        queue.add(new Item("a", "m", 1), "a", 1, "m", wrapped + 1);

        for (int i = 0; i < 4; i++) {
            assertThat(next(queue).number()).isEqualTo(i);
        }
    }

    @Test
    void ifACallCannotBeTaken_theNextCallerHasItsTurn() {
        FairQueue<Item> queue = queue();
        add(queue, "a", 1, 0);
        add(queue, "b", 1, 0);

        Item taken = queue.poll(item -> item.caller().equals("b"));

        assertThat(taken).isEqualTo(new Item("b", "m", 0));
        assertThat(queue.poll(item -> item.caller().equals("b"))).isNull();
        assertThat(queue.size()).isOne();
        assertThat(next(queue).caller()).isEqualTo("a");
    }

    @Test
    void theCallerWithTheMostCalls_givesWay_andOnlyToOneWithFewer() {
        FairQueue<Item> queue = queue();
        for (int i = 0; i < 4; i++) {
            add(queue, "a", 1, i);
        }
        for (int i = 0; i < 5; i++) {
            add(queue, "heavy", 2, i);
        }

        assertThat(queue.displaceFor("b", 1)).isEqualTo(new Item("a", "m", 3));
        assertThat(queue.displaceFor("a", 1)).isNull();
        assertThat(queue.displaceFor("heavy", 2)).isNull();
        assertThat(queue.size()).isEqualTo(8);
    }

    @Test
    void ahead_isWhatWouldBeTakenBefore() {
        FairQueue<Item> queue = new FairQueue<>(Map.of("big", 3));
        assertThat(queue.ahead("a", 1, "m")).isZero();
        for (int i = 0; i < 10; i++) {
            add(queue, "a", 1, i);
        }
        assertThat(queue.ahead("a", 1, "m")).isEqualTo(10);
        assertThat(queue.ahead("b", 1, "m")).isOne();
        assertThat(queue.ahead("b", 2, "m")).isZero();
        assertThat(queue.ahead("b", 1, "big")).isZero();
        queue.add(new Item("c", "big", 0), "c", 1, "big", 0);
        assertThat(queue.ahead("b", 1, "m")).isEqualTo(2);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void eachCallLeavesOnce_whateverHappens(long seed) {
        Random random = new Random(seed);
        FairQueue<Item> queue = new FairQueue<>(Map.of("m0", 3, "m1", 2));
        List<QueuedEntry<Item>> waiting = new ArrayList<>();
        for (int step = 0; step < 5_000; step++) {
            String caller = "c" + random.nextInt(5);
            String model = "m" + random.nextInt(4);
            switch (random.nextInt(5)) {
                case 0, 1 -> waiting.add(queue.add(new Item(caller, model, step), caller, 1, model, random.nextInt(4)));
                case 2 -> {
                    Item taken = queue.poll(item -> !item.caller().equals(caller));
                    assertThat(taken == null
                                    || waiting.removeIf(entry -> entry.value().equals(taken)))
                            .isTrue();
                }
                case 3 -> {
                    if (!waiting.isEmpty()) {
                        QueuedEntry<Item> left = waiting.remove(random.nextInt(waiting.size()));
                        assertThat(queue.remove(left)).isTrue();
                        assertThat(queue.remove(left)).isFalse();
                    }
                }
                default -> {
                    Item displaced = queue.displaceFor(caller, 1);
                    assertThat(displaced == null
                                    || waiting.removeIf(entry -> entry.value().equals(displaced)))
                            .isTrue();
                }
            }
            assertThat(queue.size()).isEqualTo(waiting.size());
            assertThat(queue.waitingOf(caller)).isEqualTo((int) waiting.stream()
                    .filter(entry -> entry.value().caller().equals(caller))
                    .count());
        }
        assertThat(queue.drain()).hasSize(waiting.size());
        assertThat(queue.isEmpty()).isTrue();
    }
}
