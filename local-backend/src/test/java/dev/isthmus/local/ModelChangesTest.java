package dev.isthmus.local;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ModelChangesTest {
    private static final Duration NEVER = Duration.ofHours(1);
    private static final Duration AT_ONCE = Duration.ofMillis(1);

    private final CountDownLatch end = new CountDownLatch(1);

    @AfterEach
    void end() {
        end.countDown();
    }

    private static CompletableFuture<String> add(ModelChanges changes, String model, Supplier<String> work) {
        CompletableFuture<String> outcome = new CompletableFuture<>();
        changes.offer(model, work, new ModelFolders.Told<>(outcome));
        return outcome;
    }

    private String await() {
        try {
            end.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return "ended";
    }

    @Test
    void changesOfOneModel_runInTheirOrder() {
        ConcurrentLinkedQueue<Integer> order = new ConcurrentLinkedQueue<>();
        try (ModelChanges changes = new ModelChanges(4, 100, NEVER)) {
            CompletableFuture<String> last = new CompletableFuture<>();
            for (int i = 0; i < 20; i++) {
                int number = i;
                last = add(changes, "m", () -> {
                    order.add(number);
                    return "done";
                });
            }
            last.join();
            assertThat(List.copyOf(order)).hasSize(20).isSorted();
        }
    }

    @Test
    void otherModel_doesNotWait() {
        try (ModelChanges changes = new ModelChanges(2, 100, NEVER)) {
            CompletableFuture<String> held = add(changes, "held", this::await);
            assertThat(add(changes, "m", () -> "loaded").join()).isEqualTo("loaded");
            assertThat(held).isNotDone();
            end.countDown();
            assertThat(held.join()).isEqualTo("ended");
        }
    }

    @Test
    void slowChange_givesUpItsPlace() {
        try (ModelChanges changes = new ModelChanges(1, 100, AT_ONCE)) {
            List<CompletableFuture<String>> held =
                    List.of(add(changes, "a", this::await), add(changes, "b", this::await));
            assertThat(add(changes, "m", () -> "loaded").join()).isEqualTo("loaded");
            assertThat(held).noneMatch(CompletableFuture::isDone);
            end.countDown();
            held.forEach(CompletableFuture::join);
            assertThat(add(changes, "a", () -> "again").join()).isEqualTo("again");
        }
    }

    @Test
    void fullQueue_refuses() {
        try (ModelChanges changes = new ModelChanges(1, 1, NEVER)) {
            add(changes, "a", this::await);
            CompletableFuture<String> queued = add(changes, "b", () -> "loaded");
            assertThatThrownBy(() -> add(changes, "c", () -> "loaded").join())
                    .hasMessageContaining("has 1 tasks in its queue");
            end.countDown();
            assertThat(queued.join()).isEqualTo("loaded");
        }
    }

    @Test
    void drain_refusesTheQueuedOnes() {
        try (ModelChanges changes = new ModelChanges(1, 8, NEVER)) {
            CompletableFuture<String> held = add(changes, "a", this::await);
            CompletableFuture<String> queued = add(changes, "a", () -> "loaded");
            changes.drain();
            assertThatThrownBy(queued::join).hasMessageContaining("closing");
            end.countDown();
            assertThat(held.join()).isEqualTo("ended");
            assertThatThrownBy(() -> add(changes, "b", () -> "loaded").join()).hasMessageContaining("is closed");
        }
    }
}
