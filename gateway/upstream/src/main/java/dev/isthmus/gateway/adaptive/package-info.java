/**
 * The adaptive concurrency of one server: how many calls it may have at once, measured by their latency. Not here:
 * which server gets a call, and what happens to a call if none has room ({@code fleet}).
 */
@NullMarked
package dev.isthmus.gateway.adaptive;

import org.jspecify.annotations.NullMarked;
