/** What the logs of calls have in common: files with rotation, the thread that writes, its replacement by a reload, and shares by model. */
@NullMarked
package dev.isthmus.gateway.logfile;

import org.jspecify.annotations.NullMarked;
