/** Frames of HTTP/2 as bytes, for clients and servers that break its rules. No connection is here. */
@NullMarked
package dev.isthmus.bench.http2;

import org.jspecify.annotations.NullMarked;
