/**
 * What the local backend's callers share with the runs of its models, and a process of its own with the gateway that
 * started it.
 */
@NullMarked
package dev.isthmus.local.call;

import org.jspecify.annotations.NullMarked;
