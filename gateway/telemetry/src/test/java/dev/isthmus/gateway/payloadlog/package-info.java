@NullMarked
package dev.isthmus.gateway.payloadlog;

import org.jspecify.annotations.NullMarked;
