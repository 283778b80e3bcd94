/** The operators' side, over its port. */
@NullMarked
package dev.isthmus.gateway.admin;

import org.jspecify.annotations.NullMarked;
