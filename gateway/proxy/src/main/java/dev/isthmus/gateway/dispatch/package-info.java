/** From a call to its reply: selects the target, transcodes, calls the upstream. No channel types. */
@NullMarked
package dev.isthmus.gateway.dispatch;

import org.jspecify.annotations.NullMarked;
