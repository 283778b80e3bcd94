/**
 * Attacks of hostile clients on a V2 endpoint, in a separate process: prebuilt bytes on plain sockets, so that they
 * cost little CPU. Starting and measuring a gateway does not belong here.
 */
@NullMarked
package dev.isthmus.bench.attack;

import org.jspecify.annotations.NullMarked;
