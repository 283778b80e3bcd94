/** Sends recorded requests of a payload log again, and compares the responses with the recorded ones. */
@NullMarked
package dev.isthmus.gateway.replay;

import org.jspecify.annotations.NullMarked;
