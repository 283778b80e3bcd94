package dev.isthmus.bench.faults;

import dev.isthmus.bench.process.BenchException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/** What a scenario plays on: a fleet that is up and warm, and a client of its gateway. */
record Stage(Options options, Fleet fleet, Client client, Tally tally) {
    /** What is done to the fleet while the load runs. It may block. */
    interface Fault {
        void inject() throws Exception;
    }

    /** Runs the load in the open loop, the fault beside it; returns when both have ended. */
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
            throw new BenchException("the fault could not be made: " + e.getCause());
        }
    }

    /** Runs the load in the closed loop. */
    void closed(int requests, int concurrency) throws InterruptedException {
        new Load(client, tally, System::nanoTime, true).closed(requests, concurrency);
    }

    /** Requests that failed. */
    int failed() {
        return tally.failures().size();
    }
}
