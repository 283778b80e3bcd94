/**
 * The management extensions of the protocol (Triton's protocol documents): one descriptor for each operation, which everything
 * that has to do with it reads. Values only: nothing here asks a server.
 */
@NullMarked
package dev.isthmus.gateway.extension;

import org.jspecify.annotations.NullMarked;
