/** The interface between ingress, dispatch and upstreams: an operation, its call, its reply. No channel types. */
@NullMarked
package dev.isthmus.gateway.call;

import org.jspecify.annotations.NullMarked;
