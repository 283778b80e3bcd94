/**
 * Requests to one model that arrive together are joined along the first dimension into one call, and its response is
 * split again. Not here: which route does so ({@code settings}, {@code dispatch}), and the call itself ({@code fleet}).
 */
@NullMarked
package dev.isthmus.gateway.batching;

import org.jspecify.annotations.NullMarked;
