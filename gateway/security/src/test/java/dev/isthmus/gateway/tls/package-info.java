/** Tests of single classes of TLS; connections are tested with a gateway. */
@NullMarked
package dev.isthmus.gateway.tls;

import org.jspecify.annotations.NullMarked;
