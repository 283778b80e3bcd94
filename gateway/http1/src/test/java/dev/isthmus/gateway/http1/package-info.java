/** Tests of messages of HTTP/1.1, and corpora of those that can be read in two ways. */
@NullMarked
package dev.isthmus.gateway.http1;

import org.jspecify.annotations.NullMarked;
