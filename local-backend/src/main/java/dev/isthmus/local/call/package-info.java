/** What a caller of the local backend and the runs of its models say to each other. */
@NullMarked
package dev.isthmus.local.call;

import org.jspecify.annotations.NullMarked;
