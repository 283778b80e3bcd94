/**
 * Messages of HTTP/1.1 (RFC 9112), as server or client: parsers that read them from buffers, and writers of heads and
 * chunks. Where the grammar can be read in two ways the message is refused. Channels, and the meaning of requests and
 * responses, do not belong here.
 *
 * <p>An {@code Http1Parser} reads as far as it is asked: a head into one array, in which a {@code FieldSection} looks
 * fields up, and parts of bodies as slices. {@code HeadWriter} and {@code ChunkWriter} write.
 */
@NullMarked
package dev.isthmus.gateway.http1;

import org.jspecify.annotations.NullMarked;
