/**
 * When an inference is sent to a second server: latencies of each model, and the time after which its calls are late.
 * Not here: what a call does then ({@code fleet}).
 */
@NullMarked
package dev.isthmus.gateway.hedge;

import org.jspecify.annotations.NullMarked;
