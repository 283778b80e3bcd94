/** Tests of the REST upstream against real loopback servers. */
@NullMarked
package dev.isthmus.gateway.upstream.rest;

import org.jspecify.annotations.NullMarked;
