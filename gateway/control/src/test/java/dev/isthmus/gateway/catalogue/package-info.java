/** Tests of merging, with answers that real servers gave. */
@NullMarked
package dev.isthmus.gateway.catalogue;

import org.jspecify.annotations.NullMarked;
