package dev.isthmus.bench.fuzz;

import java.util.concurrent.TimeUnit;

/** One question that is asked over and over, and how long its answers took. */
final class Probe {
    /** Asks once. */
    interface Question {
        /**
         * Returns when there is an answer.
         *
         * @return whether it is the right one; false where the gateway had no room
         * @throws Exception where it is wrong or there is none; the message says what came
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
     * A question, not yet asked.
     *
     * @param timed whether an answer must not be late
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

    /** Asks once and returns how many milliseconds that took. */
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
