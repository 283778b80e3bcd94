/** Tests of the admin listener, over its port. */
@NullMarked
package dev.isthmus.gateway.admin;

import org.jspecify.annotations.NullMarked;
