/**
 * Guarded ramps: a target's share of a model's calls grows step by step, and drops to 0 if the target performs worse
 * than the others. Knows only how calls ended. No channel types.
 */
@NullMarked
package dev.isthmus.gateway.ramp;

import org.jspecify.annotations.NullMarked;
