/**
 * Guarded ramps: a target's share of a model's calls goes up step by step, and back to nothing where the target does worse
 * than the others. Knows of calls only how they ended. No channel types.
 */
@NullMarked
package dev.isthmus.gateway.ramp;

import org.jspecify.annotations.NullMarked;
