@NullMarked
package dev.isthmus.gateway.tls;

import org.jspecify.annotations.NullMarked;
