/**
 * Shadow traffic: copies of calls for servers whose responses no client sees, and the comparison of those responses
 * with the primary ones. Must never delay or fail a primary call. No channel types.
 */
@NullMarked
package dev.isthmus.gateway.shadow;

import org.jspecify.annotations.NullMarked;
