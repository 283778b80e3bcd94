/**
 * What operators see when something is wrong: threads, buffers, connections, recordings of the JVM, the last errors of
 * each server, and calls while somebody watches them. Nothing here has a secret or data of a request.
 */
@NullMarked
package dev.isthmus.gateway.diagnosis;

import org.jspecify.annotations.NullMarked;
