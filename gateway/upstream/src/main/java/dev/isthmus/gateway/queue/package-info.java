/**
 * The order of calls that wait for an upstream: fair among models and callers, by priority within a caller, and how long
 * a call would wait. Not here: what lets a call wait or start ({@code fleet}).
 */
@NullMarked
package dev.isthmus.gateway.queue;

import org.jspecify.annotations.NullMarked;
