/** The interfaces between the local backend's callers and the runs of its models. */
@NullMarked
package dev.isthmus.local.call;

import org.jspecify.annotations.NullMarked;
