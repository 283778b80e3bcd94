package dev.isthmus.bench.faults;

import dev.isthmus.bench.process.BenchException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/** The environment of a scenario: a running, warm fleet and a client of its gateway. */
record ScenarioContext(Options options, Fleet fleet, Client client, Tally tally) {
    /** A fault in the fleet while the load runs. May block. */
    interface Fault {
        void inject() throws Exception;
    }

    /** Runs the open-loop load with the fault in parallel; returns when both have ended. */
    void open(Fault fault) throws BenchException, InterruptedException {
        FutureTask<Void> injected = new FutureTask<>(() -> {
            fault.inject();
            return null;
        });
        Thread.ofPlatform().daemon().name("faults-inject").start(injected);
        new Load(client, tally, System::nanoTime, true).open(options.rate(), options.requests());
        try {
            injected.get();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof BenchException problem) {
                throw problem;
            }
            throw new BenchException("the fault could not be injected: " + e.getCause());
        }
    }

    /** Runs the closed-loop load. */
    void closed(int requests, int concurrency) throws InterruptedException {
        new Load(client, tally, System::nanoTime, true).closed(requests, concurrency);
    }

    /** The number of failed requests. */
    int failed() {
        return tally.failures().size();
    }
}
