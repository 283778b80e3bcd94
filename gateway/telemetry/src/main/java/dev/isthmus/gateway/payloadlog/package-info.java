/**
 * The payload log: requests and responses of inferences as CloudEvents, to an HTTP sink or a file. Must never delay or
 * fail a call. No channel types.
 */
@NullMarked
package dev.isthmus.gateway.payloadlog;

import org.jspecify.annotations.NullMarked;
