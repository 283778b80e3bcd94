/** Tests of the thread and the files that logs are written with. */
@NullMarked
package dev.isthmus.gateway.logfile;

import org.jspecify.annotations.NullMarked;
