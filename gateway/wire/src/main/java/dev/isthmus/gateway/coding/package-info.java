/**
 * Content codings (gzip, deflate) of bodies and of gRPC messages, for ingress and upstreams. Works on buffers only;
 * HTTP and connections do not belong here.
 */
@NullMarked
package dev.isthmus.gateway.coding;

import org.jspecify.annotations.NullMarked;
