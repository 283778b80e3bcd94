/** Tests of merging, with recorded responses of real servers. */
@NullMarked
package dev.isthmus.gateway.catalogue;

import org.jspecify.annotations.NullMarked;
