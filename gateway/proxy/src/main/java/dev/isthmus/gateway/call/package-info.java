/**
 * What ingress, dispatch and upstreams say to each other: an operation, its call, its reply. No channel types.
 */
@NullMarked
package dev.isthmus.gateway.call;

import org.jspecify.annotations.NullMarked;
