/**
 * How much clients may ask: in a time, and at once. Says no before anything is sent; knows no upstream and no wire.
 */
@NullMarked
package dev.isthmus.gateway.limit;

import org.jspecify.annotations.NullMarked;
