/**
 * Limits on clients: request rates and concurrency. Rejects calls before anything is sent upstream; knows no upstream
 * and no wire.
 */
@NullMarked
package dev.isthmus.gateway.limit;

import org.jspecify.annotations.NullMarked;
