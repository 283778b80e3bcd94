/** The access log: a line of JSON for each call. */
@NullMarked
package dev.isthmus.gateway.accesslog;

import org.jspecify.annotations.NullMarked;
