/**
 * Guarded ramps: a target's share of a model's calls grows step by step, and drops to 0 if the target performs worse
 * than the others. Knows only how calls ended. No channel types.
 *
 * <p>{@code Ramps} is told of the end of each call and changes the shares of a split; it outlives reloads. {@code
 * RampStateFile} keeps a gateway's states, {@code SharedRamps} those that gateways have in common, which each {@code
 * Ramp} takes over.
 */
@NullMarked
package dev.isthmus.gateway.ramp;

import org.jspecify.annotations.NullMarked;
