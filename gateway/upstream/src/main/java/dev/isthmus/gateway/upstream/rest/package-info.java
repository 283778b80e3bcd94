/** An upstream that speaks V2 REST over HTTP/1.1. */
@NullMarked
package dev.isthmus.gateway.upstream.rest;

import org.jspecify.annotations.NullMarked;
