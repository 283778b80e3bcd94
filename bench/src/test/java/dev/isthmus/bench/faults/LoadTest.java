package dev.isthmus.bench.faults;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class LoadTest {
    private final AtomicLong clock = new AtomicLong();
    private final Tally tally = new Tally();
    private final List<Request> requests = new ArrayList<>();
    private final List<Client.Ended> inFlight = new ArrayList<>();

    @Test
    void latency_countsFromTheScheduledTime() {
        Load load = load(this::hold, true);
        clock.set(TimeUnit.MILLISECONDS.toNanos(30));
        load.arrive(0, TimeUnit.MILLISECONDS.toNanos(10));
        clock.set(TimeUnit.MILLISECONDS.toNanos(50));
        inFlight.get(0).ended(Outcome.OK);
        assertThat(tally.millis(100)).isBetween(40.0, 40.1);
    }

    @Test
    void arrivals_beyondTheBound_failUnsent() {
        Load load = load(this::hold, true);
        for (int id = 0; id < Load.MAX_IN_FLIGHT + 2; id++) {
            load.arrive(id, 0);
        }
        assertThat(requests).hasSize(Load.MAX_IN_FLIGHT);
        assertThat(tally.offeredCount()).isEqualTo(Load.MAX_IN_FLIGHT + 2);
        assertThat(tally.failuresByText()).containsOnlyKeys("unsent").containsValue(2);
    }

    @Test
    void endedRequest_makesRoom() {
        Load load = load(this::hold, true);
        for (int id = 0; id < Load.MAX_IN_FLIGHT; id++) {
            load.arrive(id, 0);
        }
        inFlight.get(0).ended(Outcome.OK);
        load.arrive(Load.MAX_IN_FLIGHT, 0);
        assertThat(tally.failures()).isEmpty();
    }

    @Test
    void failure_isKeptWithItsTimes() {
        Load load = load(this::hold, true);
        clock.set(7);
        load.arrive(3, 0);
        clock.set(9);
        inFlight.get(0).ended(Outcome.status("503"));
        assertThat(tally.failures()).containsExactly(new Tally.Failure(3, 7, 9, Outcome.status("503")));
    }

    @Test
    void closedLoop_sendsEachOnceAndWaitsForAll() throws InterruptedException {
        load(this::answer, true).closed(100, 4);
        assertThat(requests).extracting(Request::id).doesNotHaveDuplicates().hasSize(100);
        assertThat(tally.okCount()).isEqualTo(100);
    }

    @Test
    void warmUp_hasNoNumbers() throws InterruptedException {
        load(this::answer, false).closed(2, 1);
        assertThat(requests).extracting(Request::text).containsOnly("warm");
    }

    private Load load(Sending sending, boolean counted) {
        Client client = new Client() {
            @Override
            public void send(Request request, Ended ended) {
                requests.add(request);
                sending.send(ended);
            }

            @Override
            public void close() {}
        };
        return new Load(client, tally, clock::get, counted);
    }

    private interface Sending {
        void send(Client.Ended ended);
    }

    private void hold(Client.Ended ended) {
        inFlight.add(ended);
    }

    private void answer(Client.Ended ended) {
        ended.ended(Outcome.OK);
    }
}
