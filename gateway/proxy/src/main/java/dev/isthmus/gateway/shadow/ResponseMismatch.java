package dev.isthmus.gateway.shadow;

/**
 * How two answers differed.
 *
 * @param output its name; empty where the answer as a whole could not be read
 * @param reason what metrics call it; "difference" where numbers or elements differ
 * @param difference the largest of two numbers; infinite where they cannot be compared
 * @param nanoTime when
 */
record ResponseMismatch(String output, String reason, double difference, long nanoTime) {}
