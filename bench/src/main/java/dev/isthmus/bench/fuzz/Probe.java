package dev.isthmus.bench.fuzz;

import java.util.concurrent.TimeUnit;

/** A request that is sent repeatedly, with its response times. */
final class Probe {
    /** Sends the request once. */
    interface Question {
        /**
         * Waits for the response.
         *
         * @return true if it is correct; false if the gateway refused the request for lack of capacity
         * @throws Exception if it is wrong or missing; the message contains the response
         */
        boolean ask() throws Exception;
    }

    private final String name;
    private final Question question;
    private final int periodMillis;
    private final boolean timed;
    private long asked;
    private long refused;
    private long slowestMillis;

    /**
     * Creates a probe.
     *
     * @param timed whether the time limit applies
     */
    Probe(String name, int periodMillis, boolean timed, Question question) {
        this.name = name;
        this.periodMillis = periodMillis;
        this.timed = timed;
        this.question = question;
    }

    String name() {
        return name;
    }

    boolean timed() {
        return timed;
    }

    int periodMillis() {
        return periodMillis;
    }

    /** Sends one request and returns its response time in milliseconds. */
    long ask() throws Exception {
        long begun = System.nanoTime();
        boolean right = question.ask();
        long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);
        synchronized (this) {
            asked++;
            refused += right ? 0 : 1;
            slowestMillis = Math.max(slowestMillis, millis);
        }
        return millis;
    }

    synchronized String line() {
        return "| " + name + " | " + asked + " | " + refused + " | " + slowestMillis + " |";
    }
}
