/** Which of Netty's transports this machine has. */
@NullMarked
package dev.isthmus.gateway.net;

import org.jspecify.annotations.NullMarked;
