/**
 * The fallback of a route: another target gets an inference whose target has failed before it responded. Not here: which
 * target that is ({@code routing}), and other attempts at the same upstream ({@code fleet}).
 */
@NullMarked
package dev.isthmus.gateway.fallback;

import org.jspecify.annotations.NullMarked;
