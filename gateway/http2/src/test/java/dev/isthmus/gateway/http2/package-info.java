@NullMarked
package dev.isthmus.gateway.http2;

import org.jspecify.annotations.NullMarked;
