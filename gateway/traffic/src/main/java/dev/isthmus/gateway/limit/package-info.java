/**
 * Limits on clients: request rates and concurrency. Rejects calls before anything is sent upstream; knows no upstream
 * and no wire.
 *
 * <p>{@code Admission} counts concurrent calls. {@code RateLimits} counts requests and bytes on {@code RateCounter}s,
 * which decide at once or, if they are shared between gateways, later ({@code RateDecision.Undecided}). A {@code
 * SharedCounter} takes tokens in batches from a {@code TokenStore}.
 */
@NullMarked
package dev.isthmus.gateway.limit;

import org.jspecify.annotations.NullMarked;
